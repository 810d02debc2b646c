"""Names that no function of a module has yet."""

from collections.abc import Callable


def fresh_name(stem: str, is_taken: Callable[[str], bool]) -> str:
    """`stem`_N with a number that makes it free: the least one, where they have been given one after another.

    Asked for as many times as the number has digits: a module may have thousands of them.
    """
    free = 1
    while is_taken(f"{stem}_{free - 1}"):
        free *= 2
    least = free // 2
    while least < free - 1:
        middle = (least + free - 1) // 2
        least, free = (middle + 1, free) if is_taken(f"{stem}_{middle}") else (least, middle + 1)
    return f"{stem}_{least}"
