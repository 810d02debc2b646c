"""`scalify-cast`: an f32 program in f16, bf16 or FP8 precision. Runs before `scalify`.

By itself the narrow module would overflow and underflow; rewritten by `scalify` it does not. The cast comes first
because scales are chosen by the types of what they scale.
"""

import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.asked_precision import products_in_f32
from scalify_hlo.analysis.calls import CallGraph, terminator, walk
from scalify_hlo.analysis.fed_back import products_of_loops, products_of_state
from scalify_hlo.analysis.given_operands import products_of_given
from scalify_hlo.analysis.joined import joined_values
from scalify_hlo.analysis.masked_scores import masked_scores
from scalify_hlo.analysis.multiplied_in_turns import IN_TURNS, multiplied_in_turns
from scalify_hlo.analysis.name_stack import NameStacks
from scalify_hlo.analysis.quantised_values import RETYPED, mark_casts_of_values
from scalify_hlo.analysis.update import find_update
from scalify_hlo.analysis.update_region import UpdateRegion, before_marker
from scalify_hlo.analysis.weights import find_weights
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import LIFTED, STORABLE, STORED, argument_names, attributes_of, is_rewritten
from scalify_hlo.engine.signature import public_function, set_attributes
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.globs import matches
from scalify_hlo.module.carriers import before_carriers, fold_layouts, layouts_folded
from scalify_hlo.module.chlo_composites import composites_as_operations
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.emission import with_element
from scalify_hlo.passes.held_values import WIDE, Held, convert
from scalify_hlo.passes.precision_kinds import FED_BACK, GIVEN, KEPT
from scalify_hlo.passes.private_functions import merge_equal, unshare
from scalify_hlo.passes.retyping import Retyper, raise_errors, set_signature
from scalify_hlo.precision import TYPED, PrecisionPolicy, Preset, policy
from scalify_hlo.size.factors import of_any_size
from scalify_hlo.size.state import given_places
from scalify_hlo.types import tensor_info

# Argument attribute that tells what the pass took an argument for.
STATE = "scalify.state"


@dataclasses.dataclass(frozen=True)
class Cast(Pass):
    """Choose the precision of an f32 training step: of its arithmetic, its state and its gradients.

    Parameters and optimiser moments are found by data flow where no names are given: see
    `scalify_hlo.analysis.update`. In a program without a backward pass the weights take the parameters' place:
    `scalify_hlo.analysis.weights`. Other arguments and results keep their types.
    """

    name: ClassVar[str] = "scalify-cast"

    # A row of the paper's table 3: fp16 is #1, fp16-state #2, fp8 #3, fp8-fp16-state #4 (FP8 products themselves are
    # made by scalify-fp8-dots, after scalify). bf16 is the common baseline; f32 changes nothing by itself.
    precision: Preset = "fp16"
    # Replaces the row's type of activations and operands of products: f32, bf16 or f16.
    compute: str = ""
    # Replaces the row's type of the master weights.
    parameters: str = ""
    # Type of the weights of a program without a backward pass. Default: that of `parameters`.
    weights: str = ""
    # Replaces the row's type of the parameters' gradients on their way to the optimiser; FP8 types too.
    gradients: str = ""
    # Replaces the row's type of the optimiser's moments.
    moments: str = ""
    # Type of sums and of products' results before they are rounded. Default f32.
    accumulation: str = ""
    # Type of sums over devices that the program asks for (psum). Default: that of `compute`.
    reductions: str = ""
    # Type of what is gathered from devices or sent to others. Default: that in which it is stored.
    gathers: str = ""
    # Type of the optimiser's arithmetic. Default f32.
    update: str = ""
    # Arguments that are parameters: patterns with `*` and `?` on their names. Empty: found by data flow.
    parameter_names: tuple[str, ...] = ()
    # Arguments that are optimiser moments, likewise.
    moment_names: tuple[str, ...] = ()
    # Operations that stay in f32: patterns on their name stacks.
    keep: tuple[str, ...] = ()
    # Arguments of a program without a backward pass that are no weights, by name: what else would look like some.
    inputs: tuple[str, ...] = ()

    def policy(self) -> PrecisionPolicy:
        """The types. Raises ScalifyError for an unknown precision or type."""
        return policy(self.precision, **{name: getattr(self, name) for name in TYPED})

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Retypes `module` in place. Raises ScalifyError for unknown types and names."""
        chosen = self.policy()
        context = module.context
        with context, ir.Location.unknown(context), layouts_folded(module), composites_as_operations(module):
            main = public_function(module)
            if is_rewritten(main):
                raise ScalifyError(f"{self.name}: this program carries data * scale already: cast the original")
            unshare(module)
            mark_casts_of_values(module)
            calls = CallGraph(module)
            state = self._state(module, main)
            chosen = self._for_program(chosen, state)
            asking = products_in_f32(calls)
            any_size = of_any_size(module, calls, state.gradients)
            of_given = _mark_given(calls, symbol_name(main), state) if chosen.compute != WIDE else []
            fed_back = _fed_back(calls, main, state) if chosen.compute != WIDE else set[ir.Value]()
            kept = self._kept(calls) | asking | any_size | joined_values(calls) | fed_back
            kept |= _in_turns(calls) if chosen.compute == "f16" else set()
            masked = _masked(calls, main, state) if chosen.compute != WIDE else set[ir.Value]()
            retyper = Retyper(calls, chosen, state, kept, asking, masked, of_given)
            _retype(main, retyper, state, chosen)
            raise_errors(retyper.errors)
            retyper.erase_carried()
            erase_dead(module)
            merge_equal(module)
            if any(getattr(chosen, name) == "f16" for name in TYPED):
                module.operation.attributes[RETYPED] = ir.UnitAttr.get()
            remarks.extend(_remarks(self.name, main, state, chosen))

    def stored_types(self, module: ir.Module) -> tuple[list[str], list[str]]:
        """Element types of the public function's arguments and results as `apply` would leave them.

        Private functions called more than once are copied in `module`. Raises ScalifyError as `apply`.
        """
        chosen = self.policy()
        with module.context, ir.Location.unknown(module.context):
            main = public_function(module)
            fold_layouts(module)
            unshare(module)
            state = self._state(module, main)
            chosen = self._for_program(chosen, state)
            body = main.regions[0].blocks[0]
            arguments = [tensor_info(value.type).element for value in body.arguments]
            results = [tensor_info(value.type).element for value in terminator(body).operands]
            for argument, result in state.state.items():
                results[result] = _state_type(argument, state, chosen)
            for argument in state.parameters | state.moments | state.weights:
                arguments[argument] = _state_type(argument, state, chosen)
            return arguments, results

    def _for_program(self, chosen: PrecisionPolicy, state: UpdateRegion) -> PrecisionPolicy:
        """The types with that of the weights where the parameters' would stand, and f32 for what a training step
        without products of matrices computes, which narrow types make no faster. Raises ScalifyError if unknown."""
        if state.trains and not state.multiplies and chosen.compute != WIDE:
            return dataclasses.replace(chosen, compute=WIDE, gradients=WIDE)
        return dataclasses.replace(chosen, parameters=self.weights) if self.weights and not state.trains else chosen

    def _state(self, module: ir.Module, main: ir.Operation) -> UpdateRegion:
        """The optimiser's region, with the arguments that names make parameters or moments."""
        name = symbol_name(main)
        region = find_update(module, name, exact=True, statistics=True)
        names = argument_names(main)
        inputs = {i for i, each in enumerate(names) if each in self.inputs}
        region.weights = set() if region.trains else find_weights(module, name, inputs)
        region.weights -= _replaced(main)
        if region.weights and _of_state(CallGraph(module), main, region):
            region.weights = set()  # of a filter, or values of states: no model that is served
        arguments = main.regions[0].blocks[0].arguments
        for option, patterns, mine, other in (
            ("parameter-names (or --weights)", self.parameter_names, region.parameters, region.moments),
            ("moment-names", self.moment_names, region.moments, region.parameters),
        ):
            for pattern in patterns:
                found = {i for i, name in enumerate(names) if matches(name, (pattern,))}
                floats = {i for i in found if tensor_info(arguments[i].type).element == WIDE}
                if not floats:
                    what = "no float argument" if found else "no argument"
                    raise ScalifyError(
                        f"{self.name}: '{pattern}' of {option} matches {what}; names are {', '.join(names[:6])}..."
                    )
                mine |= floats
                other -= floats
                region.weights -= floats
                region.exact -= floats  # who names them means the precision's type
                region.statistics -= floats
        if not region.trains and region.parameters and not region.moments:  # named weights; vectors stay in f32
            matrices = {i for i in region.parameters if tensor_info(arguments[i].type).rank >= 2}
            attributes = attributes_of(main, "arg_attrs", len(arguments))
            frozen = {i for i in region.weights if LIFTED in attributes[i]}
            region.weights, region.parameters = matrices | frozen, set()
        return region

    def _kept(self, calls: CallGraph) -> set[ir.Value]:
        """Results of the operations that `keep` names."""
        if not self.keep:
            return set()
        names = NameStacks(calls)
        kept: set[ir.Value] = set()
        unmatched = set(self.keep)
        for function in calls.functions.values():
            for op in walk(function):
                full = names.full_name(op)
                found = {pattern for pattern in self.keep if matches(full, (pattern,))}
                if found:
                    unmatched -= found
                    kept.update(op.results)
        if unmatched:
            raise ScalifyError(f"{self.name}: keep '{min(unmatched)}' matches no operation")
        return kept


# w <- w + r h^T (x - x'): what learns without a backward pass stays in the type that it is given in
def _replaced(main: ir.Operation) -> set[int]:
    """The arguments of which the caller gets a new value at the same place."""
    body = main.regions[0].blocks[0]
    results = terminator(body).operands
    return {i for i, place in given_places(main).items() if results[place] != body.arguments[i]}


def _mark_given(calls: CallGraph, main: str, state: UpdateRegion) -> list[ir.Operation]:
    """The products of what a training step is given, which FP8 would leave no more of than its mean, now marked."""
    found = products_of_given(calls, main, state.learnt) if state.tells_inputs else []
    for op in found:
        op.attributes[KEPT] = ir.StringAttr.get(GIVEN)
    return found


def _of_state(calls: CallGraph, main: ir.Operation, state: UpdateRegion) -> list[ir.Operation]:
    """The products by which state is fed back."""
    pairs = state.state if state.trains else {**given_places(main), **state.state}
    learnt = state.parameters if state.trains and not state.is_named else ()
    return products_of_state(calls, symbol_name(main), pairs, learnt, serves=bool(state.weights))


def _fed_back(calls: CallGraph, main: ir.Operation, state: UpdateRegion) -> set[ir.Value]:
    """The results of products by which state is fed back, whose errors would stay in it: they are computed in f32.

    Those of loops, and of a model that is served, are marked as no FP8 products.
    """
    of_state = _of_state(calls, main, state)
    for op in [*products_of_loops(calls, symbol_name(main)), *of_state]:
        op.attributes[KEPT] = ir.StringAttr.get(FED_BACK)
    return set() if state.weights else {op.results[0] for op in of_state}


def _in_turns(calls: CallGraph) -> set[ir.Value]:
    """What loops multiply in turns, whose products are marked."""
    found = multiplied_in_turns(calls)
    for value in found:
        if isinstance(value, ir.OpResult) and value.owner.name == "stablehlo.dot_general":
            value.owner.attributes[IN_TURNS] = ir.UnitAttr.get()
    return found


def _masked(calls: CallGraph, main: ir.Operation, state: UpdateRegion) -> set[ir.Value]:
    """Sums in which what a program is given may hide what it computes."""
    if state.trains and not state.tells_inputs:
        return set()
    arguments = main.regions[0].blocks[0].arguments
    given = [a for i, a in enumerate(arguments) if i not in state.learnt and tensor_info(a.type).rank > 1]
    return masked_scores(calls, given)


def _retype(main: ir.Operation, retyper: Retyper, state: UpdateRegion, chosen: PrecisionPolicy) -> None:
    """Set the types of the public function's arguments, body and results."""
    body = main.regions[0].blocks[0]
    learnt, tells_inputs = state.learnt, state.tells_inputs
    stored = _take_stored(main, "arg_attrs", len(body.arguments))
    stored_results = _take_stored(main, "res_attrs", len(terminator(body).operands))
    for i, argument in enumerate(body.arguments):
        info = tensor_info(argument.type)
        if info.element != WIDE:
            continue
        element = stored.get(i) or (_state_type(i, state, chosen) if info.rank else WIDE)
        if element != WIDE:
            argument.set_type(with_element(argument.type, element))
        # One number a row, as targets have.
        is_few = info.rank > 0 and i not in learnt and all(size == 1 for size in info.shape[1:])
        given = is_few or (tells_inputs and i not in learnt)
        natural = chosen.compute if info.rank and not given else WIDE
        few = info.size if is_few else 0
        retyper.held[argument] = Held(argument, natural, element, from_model=info.rank > 0, in_memory=True, few=few)
    returned = {before_carriers(value) for value in terminator(body).operands}
    own = (a for i, a in enumerate(body.arguments) if i in state.moments or a in returned)
    retyper.exact.state.update(own, state.gradients, state.multiplied)
    results = terminator(body).operands
    for argument, result in state.state.items():
        if _state_type(argument, state, chosen) == WIDE:
            new = results[result]
            while (marked := before_marker(new)) != new:
                new = marked
            retyper.exact.returned.add(new)
    last = retyper.block(body)
    elements = {result: _state_type(i, state, chosen) for i, result in state.state.items()}
    elements |= {i: element for i, element in stored_results.items() if i in elements or element != WIDE}
    for i, value in enumerate(last.operands):
        held = retyper.held.get(value)
        if held is not None:
            element = elements.get(i, WIDE) if held.rank else WIDE
            last.operands[i] = convert(held.raw, element) if i in elements else held.read(element)
    set_signature(body, last)
    _stamp(main, state)


def _take_stored(main: ir.Operation, kind: str, count: int) -> dict[int, str]:
    """The types that the caller has decided to store arguments or results in; their attributes are taken away."""
    attributes = attributes_of(main, kind, count)
    found = {i: own.pop(STORED) for i, own in enumerate(attributes) if STORED in own}
    known = {str(ir.StringAttr.get(element)): element for element in STORABLE}
    for attribute in found.values():
        if str(attribute) not in known:
            raise ScalifyError(f"{Cast.name}: {STORED} is {attribute}, not one of {', '.join(known)}")
    if found:
        set_attributes(main, kind, attributes)
    return {i: known[str(attribute)] for i, attribute in found.items()}


def _state_type(argument: int, state: UpdateRegion, chosen: PrecisionPolicy) -> str:
    if argument in state.exact | state.statistics:
        return WIDE
    if argument in state.parameters | state.weights:
        return chosen.parameters
    return chosen.moments if argument in state.moments else WIDE


def _stamp(main: ir.Operation, state: UpdateRegion) -> None:
    """Mark the arguments that are state and the results that are new parameters, for reports and later passes."""
    body = main.regions[0].blocks[0]
    arguments = attributes_of(main, "arg_attrs", len(body.arguments))
    for kind, indices in (
        ("parameter", state.parameters),
        ("moment", state.moments),
        ("weight", state.weights),
    ):
        for i in indices:
            arguments[i][STATE] = ir.StringAttr.get(kind)
    results = attributes_of(main, "res_attrs", len(terminator(body).operands))
    for argument, result in state.state.items():
        if argument in state.parameters:
            results[result][STATE] = ir.StringAttr.get("parameter")
    set_attributes(main, "arg_attrs", arguments)
    set_attributes(main, "res_attrs", results)


def _remarks(name: str, main: ir.Operation, state: UpdateRegion, chosen: PrecisionPolicy) -> list[Diagnostic]:
    arguments = main.regions[0].blocks[0].arguments
    lines = [f"{name}: compute {chosen.compute}, gradients {chosen.gradients}, update {chosen.update}"]
    for kind, indices, element in (
        ("parameters", state.parameters, chosen.parameters),
        ("moments", state.moments, chosen.moments),
        ("weights", state.weights, chosen.parameters),
    ):
        if kind == "weights" and state.trains:
            continue
        elements = sum(tensor_info(arguments[i].type).size for i in indices)
        wide = len(indices & state.exact) if element != WIDE else 0
        told = f", {wide} of them in f32, in which differences of them or what they average count" if wide else ""
        lines.append(f"{name}: {len(indices)} {kind} ({elements} elements) in {element}{told}")
    remarks = [Diagnostic(line, "", "remark") for line in lines]
    doubles = [argument for argument in arguments if tensor_info(argument.type).element == "f64"]
    if doubles:
        kept = f"{len(doubles)} arguments are f64, which a precision leaves as it is: give them as f32"
        remarks.append(Diagnostic(f"{name}: {kept}", "", "remark" if state.parameters else "warning"))
    elif chosen.changes_state and state.trains and not state.parameters | state.moments:
        kept = "no result is an update of an argument: arguments keep their types; parameter-names names some"
        remarks.append(Diagnostic(f"{name}: {kept}", "", "warning"))
    return remarks
