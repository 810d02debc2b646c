"""What a module's entry function takes and returns, and how a rewritten one pairs data with scales."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.execution.element_types import NUMPY_DTYPES, Array, is_float
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.types import is_scale_shape

Role = Literal["data", "scale", "scales", ""]

SCALE_TYPES = ("f32", "f8E8M0FNU")


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One argument or result of the entry function.

    name: `scalify.name`, `jax.result_info` or the argument's named location; `arg0`, `result0` where there is none.
    element_type: as MLIR prints it ("f32", "bf16", "complex<f32>", ...).
    role: the `scalify.role` attribute of a rewritten function; "" where there is none.
    """

    name: str
    shape: tuple[int, ...]
    element_type: str
    role: Role = ""

    @property
    def dtype(self) -> "np.dtype[Any]":
        return NUMPY_DTYPES[self.element_type]

    @property
    def is_float(self) -> bool:
        return is_float(self.element_type)

    def same_type(self, other: "TensorSpec") -> bool:
        return self.shape == other.shape and self.element_type == other.element_type

    def is_wider_than(self, other: "TensorSpec") -> bool:
        """Whether the other is the same tensor in a float type of fewer bytes."""
        both_floats = self.is_float and other.is_float
        return both_floats and self.shape == other.shape and self.dtype.itemsize > other.dtype.itemsize

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' if size >= 0 else '?x' for size in self.shape)}{self.element_type}>"


@dataclasses.dataclass(frozen=True)
class Signature:
    arguments: tuple[TensorSpec, ...]
    results: tuple[TensorSpec, ...]


@dataclasses.dataclass(frozen=True)
class Pairing:
    """Positions of one original value in a rewritten signature; `scale` is None where it is not scaled."""

    data: int
    scale: int | None


def entry_function(module: ir.Module) -> Any:
    """The `func.func` that is run: @main, or the only public function.

    Raises ScalifyError when there is none, or several and none of them is @main.
    """
    functions = [op for op in module.body.operations if op.operation.name == "func.func"]
    public = [f for f in functions if _visibility(f) != "private"]
    for function in functions:
        if symbol_name(function) == "main":
            return function
    if len(public) == 1:
        return public[0]
    if not public:
        where = describe_location(module.operation.location)
        raise ScalifyError(Diagnostic("the module has no public function to run; make one of them @main", where))
    names = ", ".join(f"@{symbol_name(f)}" for f in public)
    why = f"the module has several public functions ({names}) and none is @main: name the one to run @main"
    raise ScalifyError(Diagnostic(why, describe_location(public[1].operation.location)))


def name_entry_main(module: ir.Module) -> None:
    """Call the entry function @main, under which name those who run modules look for it."""
    with module.context:
        entry_function(module).attributes["sym_name"] = ir.StringAttr.get("main")


def entry_signature(module: ir.Module, *, symbolic: bool = False) -> Signature:
    """Names, shapes, element types and roles of the entry function's arguments and results.

    symbolic: sizes that are no numbers are -1 in shapes.

    Raises ScalifyError for such sizes otherwise, and for types that are not tensors NumPy can hold.
    """
    function = entry_function(module)
    function_type = function.attributes["function_type"].value
    argument_attributes = _attribute_dictionaries(function, "arg_attrs")
    result_attributes = _attribute_dictionaries(function, "res_attrs")
    arguments: list[TensorSpec] = []
    for i, argument in enumerate(function.regions[0].blocks[0].arguments):
        attributes = argument_attributes[i] if i < len(argument_attributes) else None
        location = argument.location
        named = location.name_str if isinstance(location, ir.NameLoc) else ""
        name = _string(attributes, "scalify.name") or named or f"arg{i}"
        arguments.append(_spec(argument.type, name, attributes, function, symbolic))
    results: list[TensorSpec] = []
    for i, result_type in enumerate(function_type.results):
        attributes = result_attributes[i] if i < len(result_attributes) else None
        name = _string(attributes, "scalify.name") or _string(attributes, "jax.result_info") or f"result{i}"
        results.append(_spec(result_type, name, attributes, function, symbolic))
    return Signature(tuple(arguments), tuple(results))


def check_arrays(arguments: Sequence[TensorSpec], arrays: Sequence[Array]) -> None:
    """Raises ScalifyError, listing every misfit, unless the arrays have the arguments' shapes and dtypes."""
    if len(arguments) != len(arrays):
        raise ScalifyError(f"the module takes {len(arguments)} arguments, but {len(arrays)} arrays are given")
    misfits = [
        Diagnostic(f"argument {i} ({spec.name}) is a {spec}, but the array is {array.dtype}{list(array.shape)}")
        for i, (spec, array) in enumerate(zip(arguments, arrays, strict=True))
        if array.shape != spec.shape or array.dtype != spec.dtype
    ]
    if misfits:
        raise ScalifyError(misfits)


def pair_arguments(original: Signature, rewritten: Signature, *, narrowed: bool = False) -> tuple[Pairing, ...]:
    """Where each original argument is among the rewritten ones. Raises ScalifyError when they do not correspond.

    narrowed: the rewritten module may keep floats in narrower types.
    """
    return _pair(original.arguments, rewritten.arguments, "argument", narrowed)


def pair_results(original: Signature, rewritten: Signature, *, narrowed: bool = False) -> tuple[Pairing, ...]:
    """Where each original result is among the rewritten ones. Raises ScalifyError when they do not correspond."""
    return _pair(original.results, rewritten.results, "result", narrowed)


def _pair(
    original: Sequence[TensorSpec], rewritten: Sequence[TensorSpec], what: str, narrowed: bool
) -> tuple[Pairing, ...]:
    if any(spec.role for spec in rewritten):
        pairings = _pair_by_role(rewritten, what)
    else:
        pairings = _pair_by_type(original, rewritten)
    if pairings is None or len(pairings) != len(original):
        raise ScalifyError(
            f"the rewritten module's {what}s ({_types(rewritten)}) are not those of the original ({_types(original)}), "
            "each one alone or followed by its scale"
        )
    for i, (spec, pairing) in enumerate(zip(original, pairings, strict=True)):
        data = rewritten[pairing.data]
        if not spec.same_type(data) and not (narrowed and spec.is_wider_than(data)):
            raise ScalifyError(f"{what} {i} ({spec.name}) is {spec} in the original but {data} in the rewritten module")
        if pairing.scale is not None and not _is_scale_of(rewritten[pairing.scale], spec):
            raise ScalifyError(f"{what} {i} ({spec.name}): {rewritten[pairing.scale]} cannot be the scale of a {spec}")
    return pairings


def _pair_by_role(rewritten: Sequence[TensorSpec], what: str) -> tuple[Pairing, ...]:
    pairings: list[Pairing] = []
    for i, spec in enumerate(rewritten):
        if spec.role == "scales":
            raise ScalifyError(f"{what} {i} is a vector of scales: give the program without scalify-pack-scales")
        if spec.role == "scale":
            if not pairings or pairings[-1] != Pairing(i - 1, None) or rewritten[i - 1].role != "data":
                raise ScalifyError(f'{what} {i} has scalify.role = "scale" but does not follow one with role "data"')
            pairings[-1] = Pairing(i - 1, i)
        else:
            pairings.append(Pairing(i, None))
    return tuple(pairings)


def _pair_by_type(original: Sequence[TensorSpec], rewritten: Sequence[TensorSpec]) -> tuple[Pairing, ...] | None:
    """The first alignment of the types, preferring a pair where the next value could be the scale."""

    def lengths(i: int, j: int) -> list[int]:
        """How many rewritten values, from j on, original value i may have become."""
        if j < 0 or j >= len(rewritten) or not original[i].same_type(rewritten[j]):
            return []
        paired = original[i].is_float and j + 1 < len(rewritten) and _is_scale_of(rewritten[j + 1], original[i])
        return [2, 1] if paired else [1]

    # suffixes[i]: the positions j from which original[i:] can be aligned with rewritten[j:]
    suffixes: list[set[int]] = [*(set[int]() for _ in original), {len(rewritten)}]
    for i in reversed(range(len(original))):
        candidates = {end - length for end in suffixes[i + 1] for length in (1, 2)}
        suffixes[i] = {j for j in candidates if any(j + n in suffixes[i + 1] for n in lengths(i, j))}
    if 0 not in suffixes[0]:
        return None
    pairings: list[Pairing] = []
    j = 0
    for i in range(len(original)):
        length = next(n for n in lengths(i, j) if j + n in suffixes[i + 1])
        pairings.append(Pairing(j, j + 1 if length == 2 else None))
        j += length
    return tuple(pairings)


def _is_scale_of(scale: TensorSpec, data: TensorSpec) -> bool:
    return scale.element_type in SCALE_TYPES and is_scale_shape(scale.shape, data.shape)


def _types(specs: Sequence[TensorSpec]) -> str:
    shown = ", ".join(map(str, specs[:8]))
    return f"{shown}, ... {len(specs)} in all" if len(specs) > 8 else shown


def _spec(type_: ir.Type, name: str, attributes: Any, function: Any, symbolic: bool) -> TensorSpec:
    where = describe_location(function.operation.location)
    if not isinstance(type_, ir.RankedTensorType):
        raise ScalifyError(Diagnostic(f"{name} has type {type_}; only tensors can be fed and compared", where))
    if not type_.has_static_shape and not symbolic:
        why = (
            f"{name} has type {type_}, a size of which is dynamic, and no inputs are drawn for it: "
            "scalify-compare --inputs takes sizes from inputs; or export the function for arguments of known sizes"
        )
        raise ScalifyError(Diagnostic(why, where))
    element_type = str(type_.element_type)
    if element_type not in NUMPY_DTYPES:
        raise ScalifyError(Diagnostic(f"{name} has type {type_}, whose elements NumPy cannot hold", where))
    role = _string(attributes, "scalify.role")
    if role not in ("", "data", "scale", "scales"):
        wanted = '"data", "scale" or "scales"'
        raise ScalifyError(Diagnostic(f'{name} has scalify.role = "{role}"; it must be {wanted}', where))
    shape = tuple(-1 if type_.is_dynamic_dim(d) else type_.get_dim_size(d) for d in range(type_.rank))
    return TensorSpec(name, shape, element_type, role)


def _attribute_dictionaries(function: Any, key: str) -> list[Any]:
    return list(function.attributes[key]) if key in function.attributes else []


def _string(attributes: Any, key: str) -> str:
    if attributes is None or key not in attributes:
        return ""
    value = attributes[key]
    return value.value if isinstance(value, ir.StringAttr) else ""


def _visibility(function: Any) -> str:
    return function.attributes["sym_visibility"].value if "sym_visibility" in function.attributes else "public"
