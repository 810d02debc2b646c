"""The examples of several devices learn as one device does in f32; on eight virtual CPU devices, in one process."""

import pathlib

import pytest

from examples.devices import two_processes
from tests import four_devices

ROOT = pathlib.Path(__file__).parents[1]
NAMES = sorted(
    path.stem for path in (ROOT / "examples" / "devices").glob("*.py") if "def main() -> tuple" in path.read_text()
)


def test_there_are_all() -> None:
    assert len(NAMES) == 7
    told = (ROOT / "docs" / "sharding.md").read_text()
    assert all(f"examples/devices/{name}.py" in told for name in [*NAMES, "checkpoint", "two_processes"])


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_those_of_one_device(name: str) -> None:
    """FP8 over eight devices against f32 on one: within 3% of the first loss while it halves."""
    four_devices.run(
        f"""
    import numpy as np
    from examples.devices import {name}, training
    training.STEPS = 6
    losses, reference = {name}.main()
    assert reference[-1] < 0.6 * reference[0]
    assert np.abs(np.subtract(losses, reference)).max() < 0.03 * reference[0], (losses, reference)
    """,
        devices=8,
    )


def test_a_checkpoint_is_restored_on_fewer_devices() -> None:
    pytest.importorskip("orbax.checkpoint", reason="orbax is not installed")
    four_devices.run(
        """
    import warnings
    warnings.simplefilter("ignore")  # orbax's own
    import numpy as np
    from examples.devices import checkpoint
    found = checkpoint.main()
    for count in (4, 1):
        np.testing.assert_allclose(found[count], found[8], rtol=3e-3)
    """,
        devices=8,
    )


def test_two_processes_compute_what_one_does() -> None:
    """To the bit: both see the same losses, which are those of one process with all the devices."""
    first, second = two_processes.main(2, steps=2)
    (alone,) = two_processes.main(1, steps=2)
    assert len(first) == 2 and first == second == alone
