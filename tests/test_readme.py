"""The README keeps its word: its Python runs, and so do its commands."""

import ast
import asyncio
import re
import shlex
from inspect import iscoroutine
from pathlib import Path

import numpy as np
import pytest

import gradviz
from gradviz.cli import main
from gradviz.operators import registry

README = Path(__file__).resolve().parents[1] / "README.md"


def run(block: str, names: dict[str, object]) -> None:
    """Run code as a cell runs it: it may await."""
    ran = eval(compile(block, str(README), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if iscoroutine(ran):
        asyncio.run(ran)


@pytest.mark.filterwarnings("ignore:pause.. does not wait")
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TABLE", dict(registry._TABLE))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        run(block, names)
    assert gradviz.load("first.gradviz.json").name == "first"
    commands = re.findall(r"^    gradviz (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert {shlex.split(line)[0] for line in commands} == {"run", "grad", "ask", "graph", "html"}
    assert [line for line in commands if main(shlex.split(line)) != 0] == []

    net = gradviz.Net()
    net.add("Cubed", "x", "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.arange(3.0))
    gradients = net.add_gradient_operators(["y"])
    ws.run(net)
    np.testing.assert_array_equal(ws.fetch(gradients["x"]), [0.0, 3.0, 12.0])


def test_pictures_are_there() -> None:
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / path).is_file(), path
