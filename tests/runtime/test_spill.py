"""The file of a recording: nobody else's is touched, none outlives its process for long, and losses are told."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradviz.runtime.spill import PREFIX, SUFFIX, Spill, StoreError

ROOT = Path(__file__).resolve().parents[2]
Start = Callable[[Path], "subprocess.Popen[str]"]
FIVE = np.arange(5, dtype=np.uint8)

WRITES_AND_WAITS = """
import sys
import numpy as np
from gradviz.runtime.spill import Spill
spill = Spill(sys.argv[1])
spill.write(np.arange(5, dtype=np.uint8))
print(spill.path.name, flush=True)
sys.stdin.read()
"""

FORKS = """
import os, sys
import numpy as np
from gradviz.runtime.spill import Spill
spill = Spill(sys.argv[1])
start = spill.write(np.arange(5, dtype=np.uint8))
if os.fork() == 0:
    del spill
    sys.exit()
os.wait()
print(spill.read(start, 5).sum())
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that writes into a file of its own in the given folder, and waits."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", WRITES_AND_WAITS, str(folder)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def name_of_file(process: "subprocess.Popen[str]") -> str:
    """Says it when it is written."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def run(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed otherwise there")
def test_what_a_killed_process_left_goes_with_the_next_file_and_what_a_living_one_has_stays(
    start: Start, tmp_path: Path
) -> None:
    killed, living = start(tmp_path), start(tmp_path)
    left, kept = name_of_file(killed), name_of_file(living)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert names(tmp_path) == {left, kept}
    own = Spill(tmp_path)
    assert names(tmp_path) == {kept, own.path.name}
    living.communicate()
    assert names(tmp_path) == {own.path.name}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_process_that_was_forked_off_removes_nothing(tmp_path: Path) -> None:
    assert run(FORKS, tmp_path).stdout == "10\n"
    assert names(tmp_path) == set()


def test_files_in_one_folder_do_not_know_each_other(tmp_path: Path) -> None:
    one, other = Spill(tmp_path), Spill(tmp_path)
    starts = [other.write(FIVE), other.write(FIVE + 5)]
    one.write(FIVE)
    one.remove()
    assert names(tmp_path) == {other.path.name}
    assert [other.read(start, 5).tolist() for start in starts if start is not None] == [[*range(5)], [*range(5, 10)]]


def test_only_files_of_ours_are_removed(tmp_path: Path) -> None:
    others = {"results.npy", f"{PREFIX}notes.txt", f"notes{SUFFIX}"}
    for name in (*others, f"{PREFIX}left{SUFFIX}"):
        (tmp_path / name).touch()
    folder = tmp_path / f"{PREFIX}folder{SUFFIX}"
    folder.mkdir()
    own = Spill(tmp_path)
    assert names(tmp_path) == {*others, folder.name, own.path.name}


def test_a_file_goes_with_what_has_it(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "made" / "here")
    spill.write(FIVE)
    folder = spill.path.parent
    assert folder == tmp_path / "made" / "here"
    del spill
    assert names(folder) == set()


def test_where_nothing_can_be_locked_nothing_is_taken_for_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    one, other = Spill(tmp_path), Spill(tmp_path)
    assert names(tmp_path) == {one.path.name, other.path.name}


@pytest.mark.parametrize("harm", [os.unlink, lambda path: os.truncate(path, 3)])
def test_a_file_that_is_gone_or_cut_off_is_an_error(tmp_path: Path, harm: Callable[[Path], Any]) -> None:
    spill = Spill(tmp_path)
    begin = spill.write(FIVE)
    assert begin is not None
    back = spill.read(begin, 5)
    harm(spill.path)
    with pytest.raises(StoreError, match="cannot be read back") as caught:
        spill.read(begin, 5)
    assert caught.value.kind == "lost"
    assert caught.value.ways_out
    assert back.tolist() == [0, 1, 2, 3, 4]


def test_a_full_disk_stops_the_writing_and_what_was_written_is_read(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    program = """
import resource, sys
import numpy as np
from gradviz.runtime.spill import Spill
spill = Spill(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
five = np.arange(5, dtype=np.uint8)
print(spill.write(five), spill.write(five), spill.write(five[:1]), spill.read(0, 5).sum())
print(spill.fault)
"""
    said = run(program, tmp_path).stdout
    assert said.startswith("0 None None 10\n")
    assert "File too large" in said
