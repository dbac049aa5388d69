"""The program in the demos that times networks: what it prints, and that its engines compute the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

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


PRINTED = """Architecture conv5|Iteration 3|Forward Preprocess:|average-forward-preprocess-pass # ms|Forward:
each-forward-pass # # # |first-forward-pass # ms|average-forward-pass(iter2-) # ms|Backward Preprocess:
average-backward-preprocess-pass # ms|Backward:|each-backward-pass # # # |first-backward-pass # ms
average-backward-pass(iter2-) # ms|Iteration:|each-iteration-pass # # #|first-iteration-pass # ms
average-iteration-pass(iter2-) # ms|total-pass # ms"""
"""What Chainer's profile prints: | ends a line, a blank is a tab, # a number of milliseconds."""


@pytest.mark.parametrize("engine", ["net", "rank", "tape"])
def test_the_timers_and_columns_of_the_profile(engine: str) -> None:
    finished = run("--model", "conv5", "--iteration", "3", "--batch", "1", "--engine", engine)
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    expected = PRINTED.replace("\n", "|").split("|")
    told = {name: numbers for name, *numbers in (line.split("\t") for line in lines)}
    for line, form in zip(lines, expected, strict=True):
        if form.endswith(":"):
            assert line == form
        else:
            cells = [*zip(line.split("\t"), form.split(" "), strict=True)]
            assert all(cell == wanted or (wanted == "#" and float(cell) > 0) for cell, wanted in cells), line
    for part in ("forward", "backward", "iteration"):
        first, *others = map(float, filter(None, told[f"each-{part}-pass"]))
        assert float(told[f"first-{part}-pass"][0]) == first
        assert abs(float(told[f"average-{part}-pass(iter2-)"][0]) - sum(others) / 2) <= 1e-3
    parts = sum(float(told[f"average-{part}-preprocess-pass"][0]) for part in ("forward", "backward"))
    assert 3 * parts < float(told["total-pass"][0])
    assert "conv5: 1,327,488 parameters, 1 images at a time" in finished.stderr


def test_what_is_json_holds_each_iteration_and_the_layers() -> None:
    finished = run("--model", "conv5", "--iteration", "3", "--batch", "1", "--layers", "--json")
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    assert (told["model"], told["engine"], told["batch"], told["parameters"]) == ("conv5", "rank", 1, 1_327_488)
    assert {part: len(times) for part, times in told["milliseconds"].items()} == {
        **dict.fromkeys(("forward-preprocess", "forward", "backward-preprocess", "backward", "iteration"), 3),
        "total": 1,
    }
    forward, backward = told["layers"]["Conv2D 1"]
    assert 0 < forward < sum(told["milliseconds"]["forward"])
    assert 0 < backward < sum(told["milliseconds"]["backward"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--iteration", "1"], "at least 2 iterations"),
        (["--arch", "alexnet", "--iteration", "3"], "at least 4 iterations"),
        (["--batch", "0"], "at least 1 image"),
        (["--model", "alex", "--arch", "alexnet"], "not allowed with"),
        (["--engine", "net", "--layers"], "choose --engine rank or tape"),
        (["--model", "conv5", "--device", "gpu"], "is not a device"),
    ],
)
def test_what_cannot_be_timed_is_refused(
    arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["convnet_benchmark.py", *arguments])
    monkeypatch.syspath_prepend(ROOT / "demos")
    with pytest.raises(SystemExit) as ended:
        run_path(str(ROOT / "demos" / "convnet_benchmark.py"), run_name="__main__")
    assert ended.value.code
    assert says in f"{ended.value.code} {capsys.readouterr().err}"
