"""Folders of files that belong to one process: nobody else's is touched, and none outlives its process for long."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gradviz.runtime.own_folder import LOCK, PREFIX, OwnFolder
from gradviz.runtime.spill import Spill

ROOT = Path(__file__).resolve().parents[2]
Start = Callable[[Path], "subprocess.Popen[str]"]

WRITES_AND_WAITS = """
import sys
import numpy as np
from pathlib import Path
from gradviz.runtime.spill import Spill
spill = Spill(Path(sys.argv[1]))
spill.write(np.arange(5.0))
print(spill.folder.name, flush=True)
sys.stdin.read()
"""

FORKS = """
import os, sys
import numpy as np
from pathlib import Path
from gradviz.runtime.devices import CPU
from gradviz.runtime.fingerprint import fingerprint
from gradviz.runtime.spill import Spill
spill, array = Spill(Path(sys.argv[1])), np.arange(5.0)
file = spill.write(array)
if os.fork() == 0:
    del spill
    sys.exit()
os.wait()
print(Spill.read(file, CPU, fingerprint(array)).sum())
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that writes an array into a folder of its own in the given one, and waits."""
    started: list[subprocess.Popen[str]] = []

    def start(parent: Path) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", WRITES_AND_WAITS, str(parent)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def name_of_folder(process: "subprocess.Popen[str]") -> str:
    """Says it when it is there and has a file in it."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def names(parent: Path) -> set[str]:
    return {path.name for path in parent.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed otherwise there")
def test_what_a_killed_process_left_goes_with_the_next_folder_and_what_a_living_one_has_stays(
    start: Start, tmp_path: Path
) -> None:
    killed, living = start(tmp_path), start(tmp_path)
    left, kept = name_of_folder(killed), name_of_folder(living)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert names(tmp_path) == {left, kept}
    own = OwnFolder(tmp_path)
    assert names(tmp_path) == {kept, own.path.name}
    assert names(tmp_path / kept) == {"0.npy", LOCK}
    living.communicate()
    assert names(tmp_path) == {own.path.name}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_process_that_was_forked_off_removes_nothing(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FORKS, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "10.0\n"
    assert names(tmp_path) == set()


def test_folders_in_one_place_do_not_know_each_other(tmp_path: Path) -> None:
    one, other = Spill(tmp_path), Spill(tmp_path)
    assert one.folder != other.folder
    file = other.write(np.arange(3))
    one.write(np.arange(4))
    one.remove()
    assert names(tmp_path) == {other.folder.name}
    assert file.exists()


def test_only_files_of_ours_are_removed(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / LOCK).touch()
    (mine / "0.npy").touch()
    for name in ("without a lock", "with files of others"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
        (tmp_path / f"{PREFIX}{name}" / "0.npy").touch()
    others = tmp_path / f"{PREFIX}with files of others"
    for name in (LOCK, "results.npy", "0.npy.txt"):
        (others / name).touch()
    (others / "1.npy").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(mine, target_is_directory=True)
    (tmp_path / f"{PREFIX}file").touch()
    with_link = tmp_path / f"{PREFIX}linked lock"
    with_link.mkdir()
    (with_link / LOCK).symlink_to(mine / LOCK)
    (with_link / "0.npy").touch()
    own = OwnFolder(tmp_path)
    assert names(mine) == {LOCK, "0.npy"}
    assert names(tmp_path / f"{PREFIX}without a lock") == {"0.npy"}
    assert names(others) == {"results.npy", "0.npy.txt", "1.npy"}
    assert names(with_link) == {LOCK, "0.npy"}
    assert own.path.is_dir()
    (own.path / "notes.txt").touch()
    own.remove()
    assert names(own.path) == {"notes.txt"}


def test_a_folder_goes_with_what_has_it(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    spill.write(np.arange(3))
    del spill
    assert names(tmp_path) == set()


def test_where_nothing_can_be_locked_nothing_is_taken_for_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    one, other = OwnFolder(tmp_path), OwnFolder(tmp_path)
    assert names(tmp_path) == {one.path.name, other.path.name}
    one.remove()
    assert names(tmp_path) == {other.path.name}
