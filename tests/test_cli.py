"""The command line: the demos it copies, the pages it makes, what it refuses, what it hands to JupyterLab."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gradviz
from gradviz import cli
from gradviz.notebook.page import MOST_DOCUMENT

ROOT = Path(__file__).resolve().parents[1]


def run_python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python as a process of its own, in another folder than the repository's."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command line of gradviz."""
    return run_python("-m", "gradviz", *arguments, cwd=cwd)


def test_version(tmp_path: Path) -> None:
    finished = run("--version", cwd=tmp_path)
    assert finished.returncode == 0
    assert finished.stdout == f"gradviz {gradviz.__version__}\n"


def test_no_command_explains_itself(tmp_path: Path) -> None:
    finished = run(cwd=tmp_path)
    assert finished.returncode == 2
    assert "COMMAND" in finished.stderr


def test_every_demo_is_copied_into_an_empty_folder(tmp_path: Path) -> None:
    copied, kept = cli.copy_demos(tmp_path / "lessons")
    assert kept == []
    assert tmp_path / "lessons" / cli.FIRST_DEMO in copied
    for path in copied:
        assert path.read_bytes() == (cli.demos_folder() / path.relative_to(tmp_path / "lessons")).read_bytes()


def test_a_file_that_is_already_there_is_never_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / cli.FIRST_DEMO
    mine.write_text("my own notes")
    copied, kept = cli.copy_demos(tmp_path)
    assert mine.read_text() == "my own notes"
    assert kept == [mine]
    assert mine not in copied


def test_a_second_copy_brings_back_only_what_was_removed(tmp_path: Path) -> None:
    cli.copy_demos(tmp_path)
    (tmp_path / cli.FIRST_DEMO).unlink()
    copied, _ = cli.copy_demos(tmp_path)
    assert copied == [tmp_path / cli.FIRST_DEMO]


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (["lab", "my lessons", "--version"], "my lessons"),
        (["lab", "--port", "8899", "--version"], "gradviz-demos"),
    ],
)
def test_lab_copies_the_demos_and_hands_options_to_jupyterlab(
    arguments: list[str], folder: str, tmp_path: Path
) -> None:
    jupyterlab = pytest.importorskip("jupyterlab")
    finished = run(*arguments, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1] == jupyterlab.__version__
    assert [path.name for path in tmp_path.iterdir()] == [folder]
    assert (tmp_path / folder / cli.FIRST_DEMO).is_file()


def test_lab_refuses_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    finished = run("lab", "taken", cwd=tmp_path)
    assert finished.returncode == 1
    assert "could not copy the demos to taken" in finished.stderr


def test_lab_without_jupyterlab_says_how_to_get_it(tmp_path: Path) -> None:
    # A process in which JupyterLab cannot be found, as in an environment without the extra.
    program = (
        "import importlib.util as u, sys; find = u.find_spec;"
        "u.find_spec = lambda name, *rest: None if name == 'jupyterlab' else find(name, *rest);"
        "from gradviz.cli import main; sys.exit(main(['lab']))"
    )
    finished = run_python("-c", program, cwd=tmp_path)
    assert finished.returncode == 1
    assert "pip install 'gradviz[lab]'" in finished.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A saved recording in a folder of its own."""
    net = gradviz.Net("lesson")
    net.Tanh("x", "a")
    net.Sum(["a", "a"], "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones((2, 3)))
    path = tmp_path / "lesson.gradviz.json"
    gradviz.debug(net, ["y"], workspace=ws).save(path)
    return path


def test_html_makes_a_page_of_a_recording(recording: Path) -> None:
    finished = run("html", "lesson.gradviz.json", "-o", "page.html", "--title", "My lesson", cwd=recording.parent)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("page.html: ")
    page = (recording.parent / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<h1>My lesson</h1>" in page


def test_html_writes_beside_the_recording(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["html", str(recording)]) == 0
    assert (recording.parent / "lesson.html").read_text().count("<h1>lesson</h1>") == 1
    assert "lesson.html" in capsys.readouterr().out


def deep() -> str:
    return '{"format": "gradviz-trace", "version": 3, "net": ' + '{"a": ' * 100_000


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "This is not JSON"),
        (lambda text: "", "This is not JSON"),
        (lambda text: text.replace('"version":3', '"version":99', 1), "version 99; this gradviz reads up to version 3"),
        (lambda text: "{}", "not a gradviz trace"),
        (lambda text: "[]", "not a gradviz trace"),
        (lambda text: deep(), "nested deeper"),
        (lambda text: text.replace('"kind":"Played"', '"kind":"<script>"', 1), "not built as version 3 says"),
        (lambda text: text.replace('"forward":0', '"forward":77', 1), "contradicts itself"),
    ],
)
def test_html_refuses_what_is_no_recording_and_writes_nothing(
    recording: Path, damage: Callable[[str], str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = recording.parent / "page.html"
    page.write_text("older")
    recording.write_text(damage(recording.read_text()))
    assert cli.main(["html", str(recording), "-o", str(page)]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("gradviz html: ")
    assert words in told.err
    assert "Traceback" not in told.err
    assert page.read_text() == "older"
    assert {path.name for path in recording.parent.iterdir()} == {recording.name, "page.html"}


@pytest.mark.parametrize(("at", "position"), [("0", 0), ("4", 4), ("Completed", None)])
def test_html_opens_where_it_is_told_to(recording: Path, at: str, position: int | None) -> None:
    assert cli.main(["html", str(recording), "--at", at]) == 0
    if position is None:
        session = gradviz.load(recording)
        session.run_to(at)
        position = session.position
    assert f'data-position="{position}"' in (recording.parent / "lesson.html").read_text()


@pytest.mark.parametrize("at", ["999", "Nothing"])
def test_html_refuses_a_place_that_is_not_there(recording: Path, at: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["html", str(recording), "--at", at]) == 2
    assert at in capsys.readouterr().err
    assert not (recording.parent / "lesson.html").exists()


def test_html_refuses_a_huge_file_before_it_reads_it(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with recording.open("r+b") as file:
        file.truncate(MOST_DOCUMENT + 1)  # a hole: it takes no room
    assert cli.main(["html", str(recording)]) == 2
    assert "a page holds at most 256 MB" in capsys.readouterr().err
    assert not (recording.parent / "lesson.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.gradviz.json"], "does not exist"),
        (["."], "is no file"),
        (["lesson.gradviz.json", "-o", "."], "is a folder"),
        (["lesson.gradviz.json", "-o", "nowhere/page.html"], "There is no folder"),
        (["lesson.gradviz.json", "-o", "lesson.gradviz.json"], "is the recording itself"),
        (["lesson.gradviz.json", "--port", "8899"], "unrecognized arguments"),
        ([], "recording"),
    ],
)
def test_html_says_which_file_is_at_fault(recording: Path, arguments: list[str], words: str) -> None:
    before = recording.read_bytes()
    finished = run("html", *arguments, cwd=recording.parent)
    assert finished.returncode == 2
    assert words in finished.stderr
    assert "Traceback" not in finished.stderr
    assert recording.read_bytes() == before
    assert [path.name for path in recording.parent.iterdir()] == [recording.name]
