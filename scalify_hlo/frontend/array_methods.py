"""What a ScaledArray can do outside of `scalify`, by the meaning data * scale: numbers, printing, operators, methods.

Operators and methods give ScaledArrays: each is one operation transformed by `scalify`, so that no value is formed in a
type that does not hold it. `jax.numpy` functions see a plain array of at least f32 (`__jax_array__`).
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np


class ArrayMethods:
    """The methods of a ScaledArray that need its value, or make another one of it."""

    __slots__ = ()

    data: Any
    scale: Any
    broadcast_scale: Any

    # NumPy leaves `array * x` to the operators below.
    __array_priority__ = 1000

    # --- numbers and text ---------------------------------------------------------------------------------------

    def item(self, *index: int) -> float:
        """The one element (or that at an index, as in NumPy) as a Python float: exact, whatever its exponent."""
        scale = np.broadcast_to(np.asarray(self.broadcast_scale).astype(np.float64), np.shape(self.data))
        return float(np.asarray(self.data).astype(np.float64).item(*index)) * float(scale.item(*index))

    def tolist(self) -> Any:
        """The elements as nested lists of Python floats."""
        return (np.asarray(self.data).astype(np.float64) * np.asarray(self.broadcast_scale).astype(np.float64)).tolist()

    def __float__(self) -> float:
        return self._number("float")

    def __int__(self) -> int:
        return int(self._number("int"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def __bool__(self) -> bool:
        return self._number("bool") != 0

    def _number(self, function: str) -> float:
        if np.size(self.data) != 1:
            raise TypeError(
                f"{function}() takes one element, not {self.data.dtype}{list(self.data.shape)}; np.asarray(x) or "
                "scalify_hlo.asarray(x) give the values"
            )
        return self.item()

    def __format__(self, spec: str) -> str:
        # The number that the array it stands for shows in an f-string; repr and str show data and scale.
        is_number = np.ndim(self.data) == 0 and (spec or isinstance(self.data, (jax.Array, np.ndarray, np.generic)))
        if not is_number or isinstance(self.data, jax.core.Tracer):
            return object.__format__(self, spec)
        return format(self.item(), spec)

    def block_until_ready(self) -> Any:
        """The array itself, when it has been computed."""
        return jax.block_until_ready(self)

    # --- parts --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if np.ndim(self.data) == 0:
            raise TypeError("len() of an array without dimensions")
        return self.data.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        scale = self.broadcast_scale
        if np.ndim(scale):
            xp: Any = np if isinstance(scale, np.ndarray) else jnp
            scale = xp.broadcast_to(scale, self.data.shape)[index]
        return type(self)(self.data[index], scale)  # type: ignore[call-arg]

    def __setitem__(self, index: Any, value: Any) -> None:
        # For flax nnx, which assigns to what a variable holds; a TypeError elsewhere.
        from scalify_hlo.frontend.assignment import assign

        assign(self, index, value, sys._getframe(1))  # type: ignore[arg-type] # pyright: ignore[reportPrivateUsage]

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The array with its dimensions in reverse order."""
        return type(self)(self.data.T, self.broadcast_scale.T)  # type: ignore[call-arg]

    # --- arithmetic ---------------------------------------------------------------------------------------------

    def __jax_array__(self) -> Any:
        """The value for functions of `jax.numpy`: data * scale in f32, or f64 where the data are."""
        wide = np.float64 if self.data.dtype == np.float64 else np.float32
        return jnp.asarray(self.data.astype(wide) * self.broadcast_scale.astype(wide))

    def __eq__(self, other: object) -> Any:
        return _operation(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return _operation(operator.ne, self, other)

    # As of arrays, whose equality is elementwise too.
    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not isinstance(vars(ArrayMethods).get(name), _Missing)]


class _Missing:
    """A name of `jax.Array` that a ScaledArray does not have: an AttributeError that says what to write.

    One for each name, because a `__getattr__` would make every reading of data and scale slower.
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        raise AttributeError(
            f"a ScaledArray has no attribute '{self.name}'; scalify_hlo.asarray(x).{self.name} is that of the values"
        )


_METHODS = ("dot", "flatten", "max", "mean", "min", "prod", "ravel", "reshape", "squeeze", "std", "sum", "swapaxes",
            "transpose", "var")  # fmt: skip
# What a ScaledArray itself adds to these methods.
_OWN = ("aval", "dtype", "nbytes", "ndim", "shape", "size", "astype")
_UNARY: dict[str, Callable[..., Any]] = {"neg": operator.neg, "abs": operator.abs, "pos": operator.pos}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "pow": operator.pow, "matmul": operator.matmul, "mod": operator.mod, "floordiv": operator.floordiv,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _define_operators() -> None:
    def unary(function: Callable[..., Any]) -> Any:
        return lambda self: _call(function, self)

    def binary(function: Callable[..., Any]) -> Any:
        return lambda self, other: _operation(function, self, other)

    for name, function in _UNARY.items():
        setattr(ArrayMethods, f"__{name}__", unary(function))
    for name, function in (_BINARY | _COMPARISONS).items():
        setattr(ArrayMethods, f"__{name}__", binary(function))
    for name, function in _BINARY.items():
        setattr(ArrayMethods, f"__r{name}__", binary(_reflected(function)))
    for name in _METHODS:
        setattr(ArrayMethods, name, _method(name))
    for name in dir(jax.Array):
        if not (name.startswith("_") or name in _OWN or hasattr(ArrayMethods, name)):
            setattr(ArrayMethods, name, _Missing(name))


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(b, a)


def _operation(function: Callable[..., Any], x: Any, other: Any) -> Any:
    """A binary operation with an array or a number, which counts in the type of the ScaledArray."""
    from scalify_hlo.frontend.conversion import as_scaled_array

    if isinstance(other, (int, float)) and not isinstance(other, np.generic):
        # x ** 2 is x * x: the exponent stays a Python number.
        is_exponent = function is operator.pow and isinstance(other, int)
        other = other if is_exponent else as_scaled_array(float(other)).astype(x.dtype)
    elif not isinstance(other, (ArrayMethods, jax.Array, np.ndarray, np.generic)):
        return NotImplemented
    return _call(function, x, other)


def _method(name: str) -> Callable[..., Any]:
    def of_array(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _call(of_array, self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`jax.numpy.ndarray.{name}` of the value, as a ScaledArray."
    return method


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    from scalify_hlo.frontend.single_call import call_scaled  # which needs `scalify`, and that this

    return call_scaled(function, *args, **kwargs)


_define_operators()
