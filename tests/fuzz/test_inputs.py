"""A short run of the fuzzer of inputs, with a new seed each day. What it finds becomes a test in tests/cli."""

import datetime
import pathlib
import subprocess
import sys


def test_some_damaged_inputs_of_today():
    """What it finds is printed with the command that finds it again."""
    day = datetime.datetime.now(datetime.UTC).timetuple().tm_yday
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.inputs", f"--seed={day}", "--seconds=20", "--most=400"]
    root = pathlib.Path(__file__).resolve().parents[2]
    finished = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=300)
    assert finished.returncode == 0, f"{' '.join(command[1:])}\n{finished.stdout}\n{finished.stderr}"
