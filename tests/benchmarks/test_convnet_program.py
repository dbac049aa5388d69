"""The program in the demos that times networks reports each part of each iteration."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the program as a person does."""
    return subprocess.run(
        [sys.executable, "demos/convnet_benchmark.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_first_iteration_is_told_apart_and_the_others_averaged() -> None:
    finished = run("--model", "conv5", "--iteration", "3", "--batch", "1")
    assert finished.returncode == 0, finished.stderr
    told = {name: numbers for name, *numbers in (line.split("\t") for line in finished.stdout.splitlines())}
    assert (told["Architecture"], told["Iteration"], told["Batch"]) == (["conv5"], ["3"], ["1"])
    for part in ("forward", "backward", "iteration"):
        first, *others = map(float, told[f"each-{part}-pass"])
        assert float(told[f"first-{part}-pass"][0]) == first > 0
        assert len(others) == 2
        assert abs(float(told[f"average-{part}-pass(iter2-)"][0]) - sum(others) / 2) <= 1e-3
    parts = sum(float(told[f"average-{part}-preprocess-pass"][0]) for part in ("forward", "backward"))
    assert 0 < 3 * parts < float(told["total-pass"][0])


def test_an_average_needs_two_iterations() -> None:
    finished = run("--iteration", "1")
    assert finished.returncode == 2
    assert "at least 2 iterations" in finished.stderr
