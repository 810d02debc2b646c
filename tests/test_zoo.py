"""Programs of public libraries in ../shared/zoo, rewritten and compared with the original's own rounding noise.

A few of the smaller ones, one of each kind; all 36 (some minutes, once references are cached):

    python ../shared/zoo/zoo.py check --rewriter scalify_hlo.rewrite:rewrite_module --cache /tmp/zoo-references
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.shared_data import shared

ROOT = pathlib.Path(__file__).resolve().parents[1]

PROGRAMS = [
    "hf_gpt2_fwd",  # a transformer of a library, with its mask and layer norms
    "hf_llama_bf16_fwd",  # bf16, rotary embedding, grouped queries
    "nnx_birnn_fwd",  # loops
    "jax_switch_cond_scan_grad",  # branches inside loops, differentiated
    "optax_adagrad_yogi_mlp_train",  # optimisers with roots and signs
    "linen_gspmd_fsdp_tp_adam_train",  # sharded over four devices
    "linen_cnn_maxpool_rmsprop_train",  # convolution, pooling and its gradient
    "hk_vqvae_ema_train",  # argmin, one-hot, straight-through gradients
    "jraph_gat_gcn_adam_train",  # gather and scatter
    "linen_lstm_seq2seq_adam_train",  # a recurrence and its gradient: scales carried through loops
    "linen_mha_decode_scan",  # a cache that is written slice by slice, random draws
]


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Where the harness keeps the results of the original programs, in f32 and in f64."""
    return tmp_path_factory.mktemp("references")


@pytest.mark.parametrize("scales", ["rms", "jitter", "one"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_program_computes_what_it_did(
    program: str, scales: str, references: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """With scales near each argument's RMS, up to 2^6 away from it, and 1; those that come out are powers of two."""
    zoo, report = shared("zoo") / "zoo.py", tmp_path / "report.json"
    command = [sys.executable, zoo, "check", "--rewriter", "scalify_hlo.rewrite:rewrite_module", program]
    subprocess.run(
        [*command, "--scales", scales, "--report", report, "--cache", references],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=300,
    )
    (outcome,) = json.loads(report.read_text())
    assert outcome["status"] == "PASS", outcome["why"]
    assert outcome["scales_pow2"], "a result's scale is no power of two"
