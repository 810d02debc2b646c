"""Which scales the slices of a stack have that a loop writes one by one."""

from scalify_hlo.scale import Scale, Symbol


class Stacks:
    """For each scale of a stack (one number for each slice), what was written into it last, and what was there."""

    def __init__(self) -> None:
        self._written: dict[Symbol, tuple[Scale | None, Scale]] = {}

    def note(self, stack: Scale, buffer: Scale | None, update: Scale) -> None:
        """`stack`, one symbol, is the scale of a buffer (None: of zeros) in which one slice now has an update's."""
        self._written[stack.factors[0][0]] = (buffer, update)

    def written(self, stack: Scale, buffer: Scale) -> list[Scale] | None:
        """The scales of the slices that were written into a buffer; None if something else is in it."""
        found: list[Scale] = []
        while stack != buffer:
            known = self._written.get(stack.factors[0][0]) if len(stack.factors) == 1 else None
            if known is None or stack.factors[0][1] != 1:
                return None
            below, update = known
            found.append(update.shifted(stack.exponent))
            if below is None:
                break
            stack, buffer = below, buffer.shifted(-stack.exponent)
        return found
