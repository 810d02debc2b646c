"""How many Python calls rewriting takes: counts, which no load on the machine changes."""

import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from click.testing import CliRunner

from benchmarks import python_calls
from benchmarks.records import read_json


def test_the_same_program_takes_the_same_calls_again() -> None:
    found = python_calls.count(python_calls.ADD)
    assert found == python_calls.count(python_calls.ADD)
    assert (found.operations, found.per_operation) == (1, found.calls)
    assert 0 < found.rules < found.calls


# At most so many calls for each operation, what it was on 2026-11-26 and a little more: walking, asking or hashing what
# has been walked, asked or hashed before shows here. Python 3.12 and later take fewer.
@pytest.mark.parametrize(
    ("name", "dtype", "most"),
    [("gpt2", "f32", 97), ("gpt2", "f16", 177), ("resnet", "f32", 95), ("lstm", "f32", 227)],
)
def test_calls_for_each_operation(name: str, dtype: str, most: int) -> None:
    assert python_calls.count(python_calls.step(name, 2, dtype)).per_operation <= most


# All passes of a preset: each walks the program, and several ask what kind of program it is.
def test_calls_of_a_preset() -> None:
    assert python_calls.count(python_calls.step("gpt2", 2, "f32"), "fp8-fp16-state").per_operation <= 674


# Scales of a loop are maxima of maxima: each was looked at as often as there are ways that lead to it.
def test_calls_of_a_line_search() -> None:
    optax = pytest.importorskip("optax")
    optimizer = optax.lbfgs()

    def loss(p: Any) -> jax.Array:
        return jnp.sum((jnp.tanh(p["a"] @ p["b"]) - 1) ** 2)

    def train_step(p: Any, state: Any) -> tuple[Any, Any]:
        value, gradient = optax.value_and_grad_from_state(loss)(p, state=state)
        updates, state = optimizer.update(gradient, state, p, value=value, grad=gradient, value_fn=loss)
        return optax.apply_updates(p, updates), state

    weights = {name: jnp.ones((4, 4)) for name in "ab"}
    program = jax.export.export(jax.jit(train_step))(weights, optimizer.init(weights)).mlir_module()
    assert python_calls.count(program).per_operation <= 460


def test_the_rule_of_one_addition() -> None:
    assert python_calls.count(python_calls.ADD).rules <= 220


def test_the_command_writes_a_table(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "sum.mlir"
    program.write_text(python_calls.ADD)
    out = tmp_path / "calls.json"
    done = CliRunner().invoke(python_calls.main, [str(program), "--models", "lstm", "--layers", "1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    rows = read_json(out)["programs"]
    assert rows["add"] == rows["sum"]
    assert rows.keys() == {"add", "sum", "lstm f32", "lstm f16", "lstm fp8-fp16-state"}


def test_the_command_refuses_a_model_that_is_none() -> None:
    done = CliRunner().invoke(python_calls.main, ["--models", "gpt3"])
    assert done.exit_code == 2 and "no model 'gpt3'" in done.output
