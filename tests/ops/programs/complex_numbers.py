"""Complex data with a real scale. Complex arguments and results of @main are plain, so values are made inside."""

from tests.ops.program import Program

_TYPES = "3x4xT, 3x4xT -> 3x4xT"
_ELEMENTS = ("f32", "f64")
_Z = "%z = stablehlo.complex %0, %1 : tensor<3x4xcomplex<T>> "
_REAL = "%r = stablehlo.real %w : (tensor<3x4xcomplex<T>>) -> tensor<3x4xT> return %r : tensor<3x4xT>"


def _on_complex(op: str, operation: str, **options: object) -> Program:
    return Program(op, _TYPES, body=_Z + operation + _REAL, elements=_ELEMENTS, **options)  # type: ignore[arg-type]


PROGRAMS = (
    Program("stablehlo.complex", "3x4xT, 3x4xT -> 3x4xcomplex<T>", elements=_ELEMENTS),
    Program("stablehlo.real", "3x4xcomplex<T> -> 3x4xT", elements=_ELEMENTS),
    Program("stablehlo.imag", "3x4xcomplex<T> -> 3x4xT", elements=_ELEMENTS),
    _on_complex("stablehlo.real", "%w = stablehlo.negate %z : tensor<3x4xcomplex<T>> ", condition="after negate"),
    _on_complex("stablehlo.add", "%w = stablehlo.add %z, %z : tensor<3x4xcomplex<T>> ", condition="of complex numbers"),
    _on_complex(
        "stablehlo.multiply", "%w = stablehlo.multiply %z, %z : tensor<3x4xcomplex<T>> ", condition="of complex numbers"
    ),
    _on_complex(
        "stablehlo.divide",
        "%w = stablehlo.divide %z, %z : tensor<3x4xcomplex<T>> ",
        condition="of complex numbers",
        exact=False,
    ),
    _on_complex("chlo.conj", '%w = "chlo.conj"(%z) : (tensor<3x4xcomplex<T>>) -> tensor<3x4xcomplex<T>> '),
    Program(
        "stablehlo.abs",
        _TYPES,
        body=_Z + "%r = stablehlo.abs %z : (tensor<3x4xcomplex<T>>) -> tensor<3x4xT> return %r : tensor<3x4xT>",
        elements=_ELEMENTS,
        condition="of complex numbers",
    ),
)
