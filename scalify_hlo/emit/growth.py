"""What a scale grows with: its own factors, and those hidden in the maxima and products among them."""

from collections.abc import Callable, Iterable, Mapping

from scalify_hlo.emit.emitter import Emitter
from scalify_hlo.scale import ONE, Scale, Symbol

# Of how many products at most a scale is said to be about the largest.
_MOST_ALTERNATIVES = 8


def sources(emit: Emitter, scale: Scale) -> set[Symbol]:
    """The symbols that a scale grows with; those that it is divided by do not count."""
    found: set[Symbol] = set()
    pending = [scale]
    while pending:
        for symbol, power in pending.pop().factors:
            if power > 0 and symbol not in found:
                found.add(symbol)
                pending += emit.parts(symbol)
    return found


def is_unknown(emit: Emitter, scale: Scale, depth: int, known: set[Symbol]) -> bool:
    """Whether a scale of a loop's body is made of nothing that exists outside, at `depth`, or is `known`: measured."""
    found = sources(emit, scale)
    return bool(found) and not any(symbol.depth <= depth or symbol in known for symbol in found)


def without(emit: Emitter, scale: Scale, symbols: set[Symbol]) -> Scale | None:
    """The part of a scale that does not grow with any of the symbols; None if there is none.

    # t max(a s, b u) without s: t b u
    """
    growing = _growing(emit, scale, symbols)
    known: dict[Symbol, Scale | None] = dict.fromkeys(symbols)

    def of_symbol(symbol: Symbol) -> Scale | None:
        if symbol not in known:
            known[symbol] = None  # a scale does not depend on itself
            kept = [found for part in emit.parts(symbol) if (found := of_scale(part)) is not None]
            known[symbol] = emit.maximum(kept) if kept else None
        return known[symbol]

    def of_scale(scale: Scale) -> Scale | None:
        result = Scale(scale.exponent)
        for symbol, power in scale.factors:
            factor = of_symbol(symbol) if power > 0 and symbol in growing else Scale(0, ((symbol, 1),))
            if factor is None:
                return None
            result = result * factor**power
        return result

    return of_scale(scale)


def _growing(emit: Emitter, scale: Scale, symbols: set[Symbol]) -> set[Symbol]:
    """The symbols that a scale is made of, and that grow with any of `symbols`."""
    made_of: dict[Symbol, list[Symbol]] = {}  # what has a symbol among what it is made of
    seen: set[Symbol] = set()
    pending: list[tuple[Scale, Symbol | None]] = [(scale, None)]
    while pending:
        part, whole = pending.pop()
        for symbol, power in part.factors:
            if power <= 0:
                continue
            if whole is not None:
                made_of.setdefault(symbol, []).append(whole)
            if symbol not in seen:
                seen.add(symbol)
                pending += [(each, symbol) for each in emit.parts(symbol)]
    growing = seen & symbols
    reached = list(growing)
    while reached:
        for whole in made_of.get(reached.pop(), ()):
            if whole not in growing:
                growing.add(whole)
                reached.append(whole)
    return growing


def is_multiple(emit: Emitter, scale: Scale, symbol: Symbol) -> bool:
    """Whether a scale grows with a symbol whichever of its alternatives is the largest.

    # t max(2 s, u s) of s
    """
    for factor, power in scale.factors:  # noqa: SIM110
        if power > 0 and _grows_with(emit, factor, symbol):
            return True
    return False


def _grows_with(emit: Emitter, factor: Symbol, symbol: Symbol) -> bool:
    """Whether a factor does. No recursion: symbols of a deep network are made of one another by the thousand."""
    known = _known(emit, factor, symbol)
    if known is not None:
        return known
    pending = [factor]
    while pending:
        found = _from_parts(emit, pending[-1], symbol)
        if isinstance(found, Symbol):
            pending.append(found)
        else:
            emit.multiples[pending.pop(), symbol] = found
    return emit.multiples[factor, symbol]


def _known(emit: Emitter, factor: Symbol, symbol: Symbol) -> bool | None:
    if factor.index <= symbol.index:  # a symbol knows nothing of younger ones
        return factor is symbol
    return emit.multiples.get((factor, symbol))


def _from_parts(emit: Emitter, factor: Symbol, symbol: Symbol) -> bool | Symbol:
    """Whether all that a factor may be grows with the symbol; or a symbol of which that has to be known first."""
    parts = emit.parts(factor)
    for part in parts:
        known = [(f, _known(emit, f, symbol)) for f, power in part.factors if power > 0]
        if any(value for _, value in known):
            continue
        return next((f for f, value in known if value is None), False)
    return bool(parts)


def alternatives(
    emit: Emitter, scales: Iterable[Scale], outside: Callable[[Symbol], Scale | None]
) -> list[list[Scale]]:
    """Products of what is known outside a function, loop or branch, of which scales inside are about the largest.

    outside: what stands outside for a symbol; None for a symbol that exists inside alone.

    Returns at most `_MOST_ALTERNATIVES` products for each scale.

    # t max(s, u): t s, t u
    """
    known: dict[Symbol, list[Scale]] = {}

    def of_symbol(symbol: Symbol) -> list[Scale]:
        if symbol not in known:
            known[symbol] = []  # a scale does not depend on itself
            found = outside(symbol)
            products = dict.fromkeys([found] if found is not None else ())
            for part in emit.parts(symbol):
                if found is not None or len(products) >= _MOST_ALTERNATIVES:
                    break
                products |= dict.fromkeys(of_scale(part))
            known[symbol] = list(products)[:_MOST_ALTERNATIVES]
        return known[symbol]

    def of_scale(inside: Scale) -> list[Scale]:
        products = [Scale(inside.exponent)]
        for symbol, power in inside.factors:
            factors = of_symbol(symbol) or [ONE]
            products = list(dict.fromkeys(p * f**power for p in products for f in factors))[:_MOST_ALTERNATIVES]
        return products

    return [of_scale(scale) for scale in scales]


def outside(emit: Emitter, scale: Scale, depth: int, entries: dict[Symbol, Scale], hidden: set[Symbol]) -> Scale | None:
    """A scale of a loop's body as one that exists outside: maxima inside are maxima of what is known outside.

    depth: of the outside. entries: what stands outside for symbols of the inside. hidden: symbols of the outside whose
    alternatives are left out. Returns None where nothing is left. Symbols of which nothing is known count as 1.

    # t max(s, u) / v, v = max(w, x): t max(s, u) / max(w, x); without s: t u / max(w, x)
    """
    known: dict[Symbol, Scale | None] = {}
    pending: list[Scale] = [scale]
    entered: set[Symbol] = set()
    while pending:
        missing = next((s for s, _ in pending[-1].factors if s not in known), None)
        if missing is None:
            pending.pop()
            continue
        found = entries.get(missing)
        parts = [found] if found is not None else emit.parts(missing)
        if missing in hidden:
            known[missing] = None
        elif missing.depth <= depth and not sources(emit, Scale(0, ((missing, 1),))) & hidden:
            known[missing] = Scale(0, ((missing, 1),))
        elif missing not in entered:
            entered.add(missing)
            pending += [part for part in parts if any(s not in known and s not in entered for s, _ in part.factors)]
        else:
            members = [m for part in parts if (m := _substituted(part, known)) is not None]
            known[missing] = emit.maximum(members) if members else None if parts else ONE
    return _substituted(scale, known)


def exactly_outside(emit: Emitter, scale: Scale, depth: int, entries: Mapping[Symbol, Scale]) -> Scale | None:
    """A scale of a loop's body as the same number outside of it; None where the body alone can know it.

    depth: of the outside. entries: what symbols of the inside are outside.
    """
    known: dict[Symbol, Scale | None] = dict(entries)
    inside: set[Symbol] = set()
    pending = [scale]
    while pending:
        for symbol, _ in pending.pop().factors:
            if symbol.depth <= depth:
                known.setdefault(symbol, Scale(0, ((symbol, 1),)))
            elif symbol not in known and symbol not in inside:
                inside.add(symbol)
                definition = emit.definition(symbol)
                pending += [] if definition is None else definition[1]
    for symbol in sorted(inside, key=lambda each: each.index):  # a symbol knows nothing of younger ones
        name, parts = emit.definition(symbol) or ("", [])
        members = [_substituted(part, known) for part in parts]
        found = [member for member in members if member is not None]
        complete = bool(parts) and len(found) == len(members)
        choose = emit.minimum if name == "minimum" else emit.maximum
        known[symbol] = choose(found) if complete else None
    return _substituted(scale, known)


def _substituted(scale: Scale, known: dict[Symbol, Scale | None]) -> Scale | None:
    """A product with what is known of its factors in their place; None if nothing is known of one."""
    result = Scale(scale.exponent)
    for symbol, power in scale.factors:
        factor = known.get(symbol)
        if factor is None:
            return None
        result = result * factor**power
    return result
