"""The command line called as a function, in a folder of its own, and the files that it is given."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import gradviz
from gradviz.cli import main


class Done(NamedTuple):
    """What a command left: its exit status, and what it wrote to stdout and stderr."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Calls ``gradviz ARGUMENTS`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Done:
        try:
            status = main(arguments)
        except SystemExit as end:
            status = int(end.code or 0)
        return Done(status, *capsys.readouterr())

    return call


def lesson() -> tuple[gradviz.Net, gradviz.Workspace]:
    net = gradviz.Net("lesson")
    net.Tanh("x", "a")
    net.Sum(["a", "a"], "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones((2, 3)))
    return net, ws


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A saved recording in the folder."""
    net, ws = lesson()
    path = tmp_path / "lesson.gradviz.json"
    gradviz.debug(net, ["y"], workspace=ws).save(path)
    return path


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """The net of that recording, and ``x.npz`` with what it reads."""
    path = tmp_path / "net.json"
    lesson()[0].save(path)
    np.savez(tmp_path / "x.npz", x=np.ones((2, 3)))
    return path
