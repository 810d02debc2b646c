"""Operations are told apart by numbers that outlive changes of their attributes and operands."""

import gzip
import pathlib
import subprocess
import sys

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.module.identity import identity
from tests.shared_data import shared

_TEXT = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_what_changes_on_an_operation_leaves_its_identity():
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(_TEXT)
        block = module.body.operations[0].operation.regions[0].blocks[0]
        op = block.operations[0].operation
        before = identity(op)
        op.attributes["scalify.rule"] = ir.StringAttr.get("additive")
        op.operands[0] = block.arguments[1]
        assert identity(block.operations[0].operation) == before
        assert identity(op.clone()) != before


def test_stamps_do_not_hide_what_is_erased(tmp_path: pathlib.Path):
    """An operation that was stamped after it was noted, and then erased, was read: the process died of it."""
    program = pathlib.Path(shared("zoo")) / "public/optax_adagrad_yogi_mlp_train/exported.mlir.gz"
    text = tmp_path / "step.mlir"
    text.write_bytes(gzip.decompress(program.read_bytes()))
    command = [sys.executable, "-m", "scalify_hlo", "opt", "--print-rules", str(text), "-o", str(tmp_path / "out.mlir")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
