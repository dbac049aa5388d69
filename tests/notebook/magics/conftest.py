"""Fixtures of the tests of magics: an IPython shell in this process, as a terminal has it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from gradviz.notebook.channel import kernel_channel

BEGIN = """
import numpy as np
import gradviz
net = gradviz.Net("twice")
net.Tanh("x", "a")
net.Sum(["a", "x"], "s")
ws = gradviz.Workspace()
ws.feed("x", np.linspace(-1, 1, 40))
session = gradviz.debug(net, ["s"], workspace=ws)
"""


class Answered(NamedTuple):
    """What a cell has shown.

    Attributes:
        text: of its outputs and of what it has printed.
        html: of its outputs.
        problem: what it has reported, traceback included; empty: nothing.
    """

    text: str
    html: str
    problem: str


class Terminal:
    """A person at IPython."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def run(self, *lines: str) -> Answered:
        """Run lines as one cell."""
        with capture_output() as shown:
            result = self.shell.run_cell("\n".join(lines), store_history=True)
        outputs = [one.data for one in shown.outputs]
        texts, pages = ([data.get(kind, "") for data in outputs] for kind in ("text/plain", "text/html"))
        problem = "" if result.success else shown.stdout + shown.stderr
        return Answered("\n".join([shown.stdout, *texts]), "\n".join(pages), problem)

    def value(self, expression: str) -> Any:
        """What an expression of the user's is."""
        return eval(expression, self.shell.user_ns)

    def offered(self, text: str, *, jedi: bool = False) -> list[str]:
        """What is offered at the end of a text."""
        self.shell.Completer.use_jedi = jedi
        with provisionalcompleter():
            return [one.text for one in self.shell.Completer.completions(text, len(text))]


@pytest.fixture
def bare_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """IPython without gradviz."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    # IPython puts a module of its own there, which is empty in the end.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    kernel_channel.cache_clear()
    shell = InteractiveShell.instance(config=config)
    try:
        yield Terminal(shell)
    finally:
        shell.user_ns.clear()
        InteractiveShell.clear_instance()
        kernel_channel.cache_clear()


@pytest.fixture
def terminal(bare_terminal: Terminal) -> Terminal:
    """IPython with the magics, and a `session` at its beginning."""
    assert not bare_terminal.run("%load_ext gradviz").problem
    assert not bare_terminal.run(*BEGIN.splitlines()).problem
    return bare_terminal
