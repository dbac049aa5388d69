"""The benchmarks run, measure everything they name, and generation and eager passes grow in proportion.

All of them run with the slow tests, that of the widget with those of the browser.
"""

import json
import subprocess
import sys
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import checking
from tests.benchmarks.__main__ import SUBJECTS
from tests.benchmarks.large import QUESTIONS, VERBS

ROOT = Path(__file__).resolve().parents[2]

SHAPES = ("chain", "layers", "branching", "fan-out", "in place")
NAMES = {
    *(
        f"{verb} {shape}"
        for verb in ("play", "generate", "pass", "record", "growth of", "memory of")
        for shape in SHAPES
    ),
    "load JSON",
    "run tiny operators, forward",
    "run tiny operators, forward + backward",
    "MLP forward + backward",
    "LeNet forward + backward",
    "a convnet",
    "memory of a convnet",
    *(f"eager {what}, forward + backward" for what in ("chain", "MLP", "LeNet")),
    "growth of eager chain",
    "growth of eager chain by tape",
    "run a loop, forward",
    "run a loop, forward + backward",
    "memory of a loop",
    *(f"record MLP{size}{how}" for size in ("", " of 1 ms operators") for how in ("", ", in half of the memory")),
    *(f"record eager {what}{how}" for what in ("chain", "MLP", "LeNet") for how in ("", ", with events")),
    *(f"live {what}{how}" for what in ("net", "Variables") for how in ("", ", with a breakpoint")),
    "memory beside gradients",
    "document of chain",
    "debug",
    "save",
    "load",
    "the file",
    "run to a blob",
    "run to a type",
    "a breakpoint on every norm",
    "what the widget shows",
    *VERBS,
    *QUESTIONS,
    *(f"record {model}" for model in ("ResNet-18", "GPT 4 x 256", "tiny GPT")),
    "record a graph",
    checking.NAME,
    checking.BY_THE_CLOCK,
}
FEW = ("generation", "mlp", "eager")
"""Subjects that take some seconds."""

# Ten times the operators: what is linear stays near 1, what is quadratic tends to 10.
MOST_GROWTH = 4


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the benchmarks' command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@cache
def report(*subjects: str) -> dict[str, Any]:
    """What a quick run of some subjects measures."""
    finished = run("--quick", "--json", *subjects)
    assert finished.returncode == 0, finished.stderr
    read: dict[str, Any] = json.loads(finished.stdout)
    return read


@pytest.mark.slow
def test_every_benchmark_is_in_the_report() -> None:
    measured = report(*(name for name in SUBJECTS if name != "widget"))
    skipped = {entry["name"] for entry in measured["skipped"]}
    assert {figure["name"] for figure in measured["figures"]} == NAMES | {checking.KILLED} - skipped
    expect_finite_and_positive(measured)


def test_figures_are_finite_and_positive() -> None:
    expect_finite_and_positive(report(*FEW))


def expect_finite_and_positive(measured: dict[str, Any]) -> None:
    for figure in measured["figures"]:
        numbers = [figure[key] for key in ("figure", "peer_figure", "ratio") if figure[key] is not None]
        assert all(isfinite(number) and number > 0 for number in numbers), figure


def test_every_peer_is_measured_or_named_as_skipped() -> None:
    of_mlp = [entry for key in ("figures", "skipped") for entry in report(*FEW)[key] if entry["name"].startswith("MLP")]
    assert {entry["peer"] for entry in of_mlp} == {"numpy by hand", "torch", "HIPS autograd"}
    assert len(of_mlp) == 3


def test_the_report_names_the_machine() -> None:
    assert report(*FEW)["machine"].keys() == {"processor", "cores", "load", "python", "numpy", "gradviz", "date"}


def test_generation_and_eager_passes_grow_in_proportion_to_the_program() -> None:
    figures = report(*FEW)["figures"]
    growth = {figure["name"]: figure["ratio"] for figure in figures if figure["name"].startswith("growth")}
    assert len(growth) == len(SHAPES) + 2
    assert all(ratio < MOST_GROWTH for ratio in growth.values()), growth


def test_names_choose_what_is_measured_and_the_table_shows_it() -> None:
    finished = run("--quick", "execution")
    assert finished.returncode == 0, finished.stderr
    assert "run tiny operators, forward" in finished.stdout
    assert "<= 3 x" in finished.stdout
    assert "MLP" not in finished.stdout


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    finished = run("speed")
    assert finished.returncode == 2
    assert f"there is no benchmark speed; there are {', '.join(SUBJECTS)}" in finished.stderr
