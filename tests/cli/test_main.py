"""The command line as a process: what it says of itself, whom it talks to, and how it ends."""

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradviz
from tests.cli.conftest import Command
from tests.cli.processes import ENVIRONMENT, run


def test_version(tmp_path: Path) -> None:
    finished = run("--version", cwd=tmp_path)
    assert finished.returncode == 0
    assert finished.stdout == f"gradviz {gradviz.__version__}\n"


def test_no_command_explains_itself(command: Command) -> None:
    done = command()
    assert done.status == 2
    assert "COMMAND" in done.err


def test_a_reader_that_has_gone_is_no_fault(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gradviz", "operators"],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("away", ["2>&-", "2>/dev/full"])
def test_a_refusal_that_nobody_can_be_told_is_its_status_alone(away: str, tmp_path: Path) -> None:
    """Without stderr, as in a service, and where that is full; stdout may go to a file that others read."""
    line = f'"$0" -m gradviz run nothing.json {away}'
    finished = subprocess.run(["sh", "-c", line, sys.executable], cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE)
    assert (finished.returncode, finished.stdout) == (2, b"")


def test_characters_that_a_terminal_obeys_or_lacks_are_shown(tmp_path: Path) -> None:
    named = gradviz.Net("\x1b[31mred → blue")
    named.Tanh("x", "y")
    named.save(tmp_path / "net.json")
    finished = run("grad", "net.json", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith(r"\x1b[31mred \u2192 blue, differentiated from y")


@pytest.mark.usefixtures("ctrl_c")
def test_on_a_terminal_a_long_run_says_how_far_it_is_and_ends_when_interrupted(tmp_path: Path) -> None:
    long = gradviz.Net("long")
    for _ in range(40_000):
        long.MatMul(["a", "w"], "a")
    long.save(tmp_path / "long.json")
    np.savez(tmp_path / "fed.npz", a=np.eye(500), w=np.eye(500))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "gradviz", "run", "long.json", "--feed", "fed.npz"],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=theirs,
    ) as process:  # fmt: skip
        said = b""
        while b"of 40,000 operators" not in said:
            assert select.select([ours], [], [], 60)[0], said
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.read() == b""
    said = os.read(ours, 4096)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 130
    assert said.endswith(b"gradviz run: interrupted\r\n")
