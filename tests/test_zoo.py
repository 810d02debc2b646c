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


# One process runs a group, so that libraries, references and executables are there for all scales.
GROUPS = [PROGRAMS[0::3], PROGRAMS[1::3], PROGRAMS[2::3]]
SCALES = ("rms", "jitter", "one")
_CHECK = """
import functools, sys
sys.path.insert(0, sys.argv[1])
import zoo
zoo.compile_module = functools.cache(zoo.compile_module)
for scales in sys.argv[3].split(","):
    report = f"{sys.argv[2]}/{scales}.json"
    zoo.main(["check", "--inproc", "--rewriter", "scalify_hlo.rewrite:rewrite_module", "--scales", scales,
              "--cache", f"{sys.argv[2]}/references", "--report", report, *sys.argv[4:]])
"""


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0]} and {len(group) - 1} more")
def test_programs_compute_what_they_did(group: list[str], tmp_path: pathlib.Path) -> None:
    """With scales near each argument's RMS, up to 2^6 away from it, and 1; those that come out are powers of two."""
    subprocess.run(
        [sys.executable, "-c", _CHECK, shared("zoo"), tmp_path, ",".join(SCALES), *group],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=300,
    )
    for scales in SCALES:
        outcomes = json.loads((tmp_path / f"{scales}.json").read_text())
        assert sorted(outcome["name"] for outcome in outcomes) == sorted(group)
        for outcome in outcomes:
            assert outcome["status"] == "PASS", f"{outcome['name']}, scales {scales}: {outcome['why']}"
            assert outcome["scales_pow2"], f"{outcome['name']}: a result's scale is no power of two"
