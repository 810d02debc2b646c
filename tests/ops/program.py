"""One use of one operation, written down in a line or two: the rows of the table in tests/ops/programs/.

    Program("stablehlo.add", "3x4xT, 3x4xT -> 3x4xT")

is a module whose @main adds its two arguments. `T` stands for the element type that a test chooses. An operand
`3x4xT=2.0` is a constant instead of an argument. What the generic form of an operation cannot say (several
operations, several functions) goes into `body` and `functions`, in MLIR's own syntax.
"""

import dataclasses
import re
from typing import Literal

import numpy as np

from scalify_hlo.execution.element_types import NUMPY_DTYPES, Array
from scalify_hlo.execution.inputs import draw_inputs
from scalify_hlo.execution.signature import entry_signature
from tests.support import parse

Draw = Literal["normal", "positive", "within_one", "above_one", "whole"]


@dataclasses.dataclass(frozen=True)
class Operand:
    """One operand of the operation: its type, and its value if it is a constant."""

    type: str
    value: str | None = None

    @property
    def is_float(self) -> bool:
        """Whether it is an argument that can be data * scale."""
        return self.value is None and re.search(r"(^|x)(T|f\d+|bf16)$", self.type) is not None


@dataclasses.dataclass(frozen=True)
class Program:
    """A module around one operation.

    op: full name.
    types: operand types, "->", result types; comma-separated, without `tensor<>`.
    attributes: of the operation, as MLIR's generic form takes them.
    regions: likewise.
    body: instead of the operation in its generic form: MLIR operations on the arguments %0, %1, ... that end in
        `return`.
    functions: further functions of the module.
    condition: what is special about this use of the operation.
    draw: where the float arguments come from (see `inputs`).
    exact: whether f32 results have the original's bits (promise P2); by default what the registry says.
    range: under which variants of tests.support.RANGE_EXPONENTS, or all or none of them, an f16 result exists when
        data * scale is out of f16's range. None: by the family of the rule.
    not_run: why neither the interpreter nor XLA:CPU gives results that can be compared.
    interpreted: the StableHLO reference interpreter can run it; otherwise XLA:CPU does.
    elements: the element types that `T` may stand for.
    """

    op: str
    types: str = ""
    attributes: str = ""
    regions: str = ""
    _: dataclasses.KW_ONLY
    body: str = ""
    functions: str = ""
    condition: str = ""
    draw: Draw = "normal"
    exact: bool | None = None
    range: bool | tuple[str, ...] | None = None
    not_run: str = ""
    interpreted: bool = True
    elements: tuple[str, ...] = ("f32", "f64", "bf16", "f16")

    @property
    def name(self) -> str:
        """`<op>_<condition>`, as the lit tests name it too."""
        return "_".join(filter(None, [self.op.removeprefix("stablehlo."), self.condition.replace(" ", "_")]))

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands, constants included."""
        return tuple(Operand(*each.split("=")) for each in _split(self.types.partition("->")[0]))

    @property
    def results(self) -> tuple[str, ...]:
        """The types of the results."""
        return tuple(_split(self.types.partition("->")[2]))

    def with_constant(self, index: int, value: str) -> "Program":
        """The same program with operand `index` a constant whose elements all equal `value`."""
        operands = list(self.operands)
        operands[index] = dataclasses.replace(operands[index], value=value)
        texts = [o.type if o.value is None else f"{o.type}={o.value}" for o in operands]
        return dataclasses.replace(self, types=f"{', '.join(texts)} -> {', '.join(self.results)}")

    def text(self, element: str = "f32") -> str:
        """The module, in MLIR's text form, for one element type."""
        operands = self.operands
        arguments = [f"%{i}: {_tensor(o.type)}" for i, o in enumerate(operands) if o.value is None]
        constants = [
            f"    %{i} = stablehlo.constant dense<{_literal(o.value, element)}> : {_tensor(o.type)}"
            for i, o in enumerate(operands)
            if o.value is not None
        ]
        results = ", ".join(map(_tensor, self.results))
        module = "\n".join(
            [
                f"func.func public @main({', '.join(arguments)}) -> ({results}) {{",
                *constants,
                self.body or self._operation(),
                "}",
                self.functions,
            ]
        )
        return re.sub(r"(?<=[x<])T(?=>)", element, module)

    def _operation(self) -> str:
        count = len(self.results)
        names = [f"%r#{i}" for i in range(count)] if count > 1 else ["%r"]
        operands = ", ".join(f"%{i}" for i in range(len(self.operands)))
        types = ", ".join(_tensor(o.type) for o in self.operands)
        results = ", ".join(map(_tensor, self.results))
        head = "%r" if count == 1 else f"%r:{count}"
        regions = f" ({self.regions})" if self.regions else ""
        attributes = f" {{{self.attributes}}}" if self.attributes else ""
        return (
            f'    {head} = "{self.op}"({operands}){regions}{attributes} : ({types}) -> ({results})\n'
            f"    return {', '.join(names)} : {results}"
        )

    def inputs(self, element: str = "f32", seed: int = 0) -> list[Array]:
        """Seeded arguments.

        draw "normal": Gaussian; "positive": away from zero; "within_one": in (-0.95, 0.95); "above_one": in
        [1.1, 4]; "whole": small whole numbers.
        """
        signature = entry_signature(parse(self.text(element)))
        drawn = draw_inputs(signature, seed, "positive" if self.draw == "positive" else "normal")
        generator = np.random.default_rng(seed)
        arrays: list[Array] = []
        for array, spec in zip(drawn, signature.arguments, strict=True):
            if spec.is_float and self.draw == "within_one":
                array = generator.uniform(-0.95, 0.95, spec.shape).astype(spec.dtype)
            elif spec.is_float and self.draw == "above_one":
                array = generator.uniform(1.1, 4, spec.shape).astype(spec.dtype)
            elif spec.is_float and self.draw == "whole":
                array = generator.integers(1, 6, spec.shape).astype(spec.dtype)
            arrays.append(np.asarray(array))
        return arrays


def reducer(op: str, element: str = "T") -> str:
    """A region of two scalar arguments that applies `stablehlo.<op>` to them."""
    scalar = f"tensor<{element}>"
    return (
        f"{{ ^bb0(%a: {scalar}, %b: {scalar}): %c = stablehlo.{op} %a, %b : {scalar} stablehlo.return %c : {scalar} }}"
    )


_BITS = {"f64": np.uint64, "f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}


def _literal(value: str, element: str) -> str:
    """A number as MLIR writes it: infinities and NaN as bits."""
    if value.lstrip("-") in ("inf", "nan"):
        bits = np.asarray(float(value), NUMPY_DTYPES[element]).view(_BITS[element])
        return f"0x{int(bits):0{2 * bits.itemsize}X}"
    return value


def _tensor(text: str) -> str:
    return text if text.startswith("!") else f"tensor<{text}>"


def _split(text: str) -> list[str]:
    """Split at commas, without blanks; [] for nothing."""
    return [each.strip() for each in text.split(",") if each.strip()]
