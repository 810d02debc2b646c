"""The reference interpreter behind its worker processes."""

import threading

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.execution.interpreter import InterpreterError, InterpreterPool, interpret
from scalify_hlo.execution.modules import as_module, to_bytecode


def unary(op: str, type_: str = "tensor<3xf32>") -> str:
    signature = f"{type_} -> {type_}" if op.startswith("chlo.") else type_
    return f"""
      func.func public @main(%x: {type_}) -> {type_} {{
        %0 = {op} %x : {signature}
        return %0 : {type_}
      }}"""


# The reference interpreter of jaxlib 0.10 to 0.12 ends its process at a tensor of them.
FOUR_BITS = "f4E2M1FN"


@pytest.mark.parametrize("element_type", [each for each in NUMPY_DTYPES if each != FOUR_BITS])
def test_every_element_type_goes_in_and_comes_out(element_type: str) -> None:
    dtype = NUMPY_DTYPES[element_type]
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    scalar = np.asarray(1).astype(dtype)
    empty = np.zeros((0, 2), dtype)
    types = [f"tensor<2x3x{element_type}>", f"tensor<{element_type}>", f"tensor<0x2x{element_type}>"]
    module = f"""
      func.func public @main(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) -> ({", ".join(types)}) {{
        return %a, %b, %c : {", ".join(types)}
      }}"""
    for given, got in zip([values, scalar, empty], interpret(module, [values, scalar, empty]), strict=True):
        assert got.dtype == dtype
        assert got.shape == given.shape
        assert got.tobytes() == given.tobytes()


def test_elements_of_four_bits_are_refused() -> None:
    type_ = f"tensor<2x{FOUR_BITS}>"
    module = f"func.func public @main(%a: {type_}) -> {type_} {{ return %a : {type_} }}"
    with pytest.raises(InterpreterError, match="run this program on XLA:CPU"):
        interpret(module, [np.ones(2, NUMPY_DTYPES[FOUR_BITS])])


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (ml_dtypes.bfloat16, [0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x8000]),
        (np.float16, [0x7C00, 0xFC00, 0x7E00, 0x0001, 0x8000]),
        (ml_dtypes.float8_e5m2, [0x7C, 0xFC, 0x7E, 0x01, 0x80]),
    ],
)
def test_special_values_keep_their_bits(dtype: type, bits: list[int]) -> None:
    """Infinities, NaN, the smallest subnormal and the negative zero."""
    given = np.array(bits, f"u{np.dtype(dtype).itemsize}").view(dtype)
    name = {ml_dtypes.bfloat16: "bf16", np.float16: "f16", ml_dtypes.float8_e5m2: "f8E5M2"}[dtype]
    (got,) = interpret(
        f"func.func @main(%x: tensor<5x{name}>) -> tensor<5x{name}> {{ return %x : tensor<5x{name}> }}", [given]
    )
    assert got.tobytes() == given.tobytes()


def test_text_bytecode_and_module_are_the_same_program() -> None:
    text = unary("stablehlo.negate")
    x = np.array([1, 2, 3], np.float32)
    module = as_module(text)
    for form in (text, to_bytecode(module), module):
        np.testing.assert_array_equal(interpret(form, [x])[0], -x)


def test_module_is_left_as_it_was() -> None:
    module = as_module(unary("chlo.erf"))
    before = str(module)
    interpret(module, [np.zeros(3, np.float32)])
    assert str(module) == before


def test_chlo_and_deprecated_operations_are_legalised() -> None:
    (erf,) = interpret(unary("chlo.erf"), [np.array([0, 1, -1], np.float32)])
    np.testing.assert_allclose(erf, [0, 0.8427008, -0.8427008], rtol=1e-6)
    broadcast = '"stablehlo.broadcast"(%x) {broadcast_sizes = array<i64: 2>}'
    module = f"""
      func.func @main(%x: tensor<3xf32>) -> tensor<2x3xf32> {{
        %0 = {broadcast} : (tensor<3xf32>) -> tensor<2x3xf32>
        return %0 : tensor<2x3xf32>
      }}"""
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(interpret(module, [x])[0], np.broadcast_to(x, (2, 3)))


def test_each_operation_is_rounded_once() -> None:
    """(x * y) + z without a fused multiply-add, in f16."""
    module = """
      func.func @main(%x: tensor<f16>, %y: tensor<f16>, %z: tensor<f16>) -> tensor<f16> {
        %0 = stablehlo.multiply %x, %y : tensor<f16>
        %1 = stablehlo.add %0, %z : tensor<f16>
        return %1 : tensor<f16>
      }"""
    x = np.float16(1 + 2**-10)
    (got,) = interpret(module, [np.asarray(x), np.asarray(x), np.asarray(-np.float16(x * x))])
    assert got == 0


def test_scatter_leaves_its_operand_alone() -> None:
    """The interpreter itself scatters into the operand's memory."""
    module = """
      func.func @main(%x: tensor<3xf32>, %u: tensor<2xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
        %i = stablehlo.constant dense<[[1], [1]]> : tensor<2x1xi64>
        %y = stablehlo.negate %x : tensor<3xf32>
        %0 = "stablehlo.scatter"(%y, %i, %u) ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %c = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %c : tensor<f32>
        }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
          : (tensor<3xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<3xf32>
        return %0, %y : tensor<3xf32>, tensor<3xf32>
      }"""
    scattered, operand = interpret(module, [np.array([1, 2, 3], np.float32), np.array([10, 20], np.float32)])
    np.testing.assert_array_equal(scattered, [-1, 28, -3])
    np.testing.assert_array_equal(operand, [-1, -2, -3])


def test_the_only_public_function_runs_when_there_is_no_main() -> None:
    module = """
      func.func private @helper(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.add %x, %x : tensor<2xf32>
        return %0 : tensor<2xf32>
      }
      func.func public @apply(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = call @helper(%x) : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }"""
    np.testing.assert_array_equal(interpret(module, [np.ones(2, np.float32)])[0], [2, 2])


ABORTS = """
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = func.call @inner(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @inner(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @mystery(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("model.py":12:3)
    return %0 : tensor<2xf32>
  }"""


def test_an_abort_becomes_an_error_that_names_the_operation_and_its_place() -> None:
    with pytest.raises(InterpreterError) as caught:
        interpret(ABORTS, [np.ones(2, np.float32)])
    assert caught.value.operation == "stablehlo.custom_call"
    assert "does not implement 'stablehlo.custom_call'" in str(caught.value)
    assert "model.py:12:3: note: here is a 'stablehlo.custom_call'" in str(caught.value)


def test_the_pool_works_on_after_an_abort() -> None:
    pool = InterpreterPool(size=1)
    try:
        for _ in range(2):
            with pytest.raises(InterpreterError):
                pool.interpret(ABORTS, [np.ones(2, np.float32)])
            (got,) = pool.interpret(unary("stablehlo.negate"), [np.ones(3, np.float32)])
            np.testing.assert_array_equal(got, [-1, -1, -1])
    finally:
        pool.close()


def test_a_worker_is_kept_for_the_next_call() -> None:
    pool = InterpreterPool(size=2)
    try:
        for value in range(5):
            pool.interpret(unary("stablehlo.negate"), [np.full(3, value, np.float32)])
        assert pool.started == 1
    finally:
        pool.close()


def test_many_threads_get_their_own_results() -> None:
    pool = InterpreterPool(size=2)
    results: dict[int, float] = {}

    def work(i: int) -> None:
        (got,) = pool.interpret(unary("stablehlo.negate"), [np.full(3, i, np.float32)])
        results[i] = float(got[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        pool.close()
    assert results == {i: float(-i) for i in range(8)}
    assert pool.started <= 2


def test_a_program_that_does_not_end_is_ended() -> None:
    endless = """
      func.func @main(%x: tensor<i32>) -> tensor<i32> {
        %0 = stablehlo.while(%i = %x) : tensor<i32>
          cond { %t = stablehlo.constant dense<true> : tensor<i1>  stablehlo.return %t : tensor<i1> }
          do { stablehlo.return %i : tensor<i32> }
        return %0 : tensor<i32>
      }"""
    with pytest.raises(InterpreterError, match="took too long"):
        interpret(endless, [np.asarray(1, np.int32)], timeout_seconds=1)


@pytest.mark.parametrize(
    ("module", "arrays", "message"),
    [
        ("rubbish", [], "rubbish"),
        (unary("stablehlo.negate"), [], "takes 1 arguments, but 0 arrays"),
        (
            unary("stablehlo.negate"),
            [np.ones(3)],
            r"argument 0 .arg0. is a tensor<3xf32>, but the array is float64\[3\]",
        ),
        (unary("stablehlo.negate"), [np.ones(2, np.float32)], r"float32\[2\]"),
        ("func.func private @f() { return }", [], "no public function"),
        ("func.func @f() { return } func.func @g() { return }", [], "several public functions"),
        (unary("stablehlo.negate", "tensor<?xf32>"), [np.ones(2, np.float32)], "dynamic"),
    ],
)
def test_misuse_is_one_clear_error(module: str, arrays: list[np.ndarray], message: str) -> None:
    with pytest.raises(InterpreterError, match=message) as caught:
        interpret(module, arrays)
    assert isinstance(caught.value, ScalifyError)
    assert "Traceback" not in str(caught.value)
