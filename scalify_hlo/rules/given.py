"""What rules give to an `OpRewrite` and is nothing of the kind: what to give instead, in words."""

from scalify_hlo.bindings import ir


def no_scale(given: object) -> str:
    """What to give `r.result` instead of something that is no scale."""
    wanted = "r.result takes a Scale: that of an operand, r.scaled(0).scale, or a power of two 2^k, Scale(k)"
    if isinstance(given, tuple):
        return f"{wanted}; this is a tuple. scale.rooted(n) is one: a root, and what is left for the data"
    return f"{wanted}; this is {_described(given)}"


def check_value(given: object) -> None:
    """Raises TypeError for an operand that is no value of the program."""
    if not isinstance(given, ir.Value):
        raise TypeError(
            f"r.set_operand takes a value of the program, such as r.scaled(0).data, r.plain(0), not {_described(given)}"
        )


def _described(given: object) -> str:
    if isinstance(given, (int, float)):
        return repr(given)
    name = type(given).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
