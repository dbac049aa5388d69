"""`gradviz html`: the pages it makes, and what it refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest

import gradviz
from gradviz.cli import main
from gradviz.cli.inputs import MOST_BYTES
from tests.cli.conftest import Command


def test_html_makes_a_page_of_a_recording(recording: Path, command: Command) -> None:
    done = command("html", "lesson.gradviz.json", "-o", "page.html", "--title", "My lesson")
    assert done.status == 0, done.err
    assert done.out.startswith("page.html: ")
    page = (recording.parent / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<h1>My lesson</h1>" in page


def test_html_writes_beside_the_recording(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["html", str(recording)]) == 0
    assert (recording.parent / "lesson.html").read_text().count("<h1>lesson</h1>") == 1
    assert "lesson.html" in capsys.readouterr().out


def deep() -> str:
    return '{"format": "gradviz-trace", "version": 6, "net": ' + '{"a": ' * 100_000


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "This is not JSON"),
        (lambda text: "", "This is not JSON"),
        (lambda text: text.replace('"version":6', '"version":99', 1), "version 99; this gradviz reads up to version 6"),
        (lambda text: "{}", "not a gradviz trace"),
        (lambda text: '{"name": "n", "ops": []}', "gradviz grad NET -o FILE"),
        (lambda text: "[]", "not a gradviz trace"),
        (lambda text: deep(), "nested deeper"),
        (lambda text: text.replace('"kind":"Played"', '"kind":"<script>"', 1), "not built as version 6 says"),
        (lambda text: text.replace('"forward":0', '"forward":77', 1), "contradicts itself"),
    ],
)
def test_html_refuses_what_is_no_recording_and_writes_nothing(
    recording: Path, damage: Callable[[str], str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = recording.parent / "page.html"
    page.write_text("older")
    recording.write_text(damage(recording.read_text()))
    assert main(["html", str(recording), "-o", str(page)]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("gradviz html: ")
    assert words in told.err
    assert page.read_text() == "older"
    assert {path.name for path in recording.parent.iterdir()} == {recording.name, "page.html"}


@pytest.mark.parametrize(("at", "position"), [("0", 0), ("4", 4), ("Completed", None)])
def test_html_opens_where_it_is_told_to(recording: Path, at: str, position: int | None) -> None:
    assert main(["html", str(recording), "--at", at]) == 0
    if position is None:
        session = gradviz.load(recording)
        session.run_to(at)
        position = session.position
    assert f'data-position="{position}"' in (recording.parent / "lesson.html").read_text()


@pytest.mark.parametrize("at", ["999", "Nothing"])
def test_html_refuses_a_place_that_is_not_there(recording: Path, at: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["html", str(recording), "--at", at]) == 2
    assert at in capsys.readouterr().err
    assert not (recording.parent / "lesson.html").exists()


def test_html_takes_a_budget_as_a_number_and_as_text(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradviz.notebook.page_answers.process_time", lambda: 0.0)  # it ends by bytes, not by time
    pages = []
    for budget in ("1000", "1 KB"):
        assert main(["html", str(recording), "--budget", budget]) == 0
        pages.append((recording.parent / "lesson.html").read_text())
    assert pages[0] == pages[1]


@pytest.mark.parametrize("budget", ["-1", "much"])
def test_html_refuses_what_is_no_budget(budget: str, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["html", str(recording), "--budget", budget]) == 2
    assert "is no budget of bytes." in capsys.readouterr().err
    assert not (recording.parent / "lesson.html").exists()


def test_html_refuses_a_huge_file_before_it_reads_it(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with recording.open("r+b") as file:
        file.truncate(MOST_BYTES + 1)  # a hole: it takes no room
    assert main(["html", str(recording)]) == 2
    assert "reads at most 256 MB" in capsys.readouterr().err
    assert not (recording.parent / "lesson.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.gradviz.json"], "does not exist"),
        (["."], "is no file"),
        (["lesson.gradviz.json", "-o", "."], "is a folder"),
        (["lesson.gradviz.json", "-o", "nowhere/page.html"], "There is no folder"),
        (["lesson.gradviz.json", "-o", "lesson.gradviz.json"], "is lesson.gradviz.json itself"),
        (["lesson.gradviz.json", "--port", "8899"], "unrecognized arguments"),
        ([], "recording"),
    ],
)
def test_html_says_which_file_is_at_fault(recording: Path, arguments: list[str], words: str, command: Command) -> None:
    before = recording.read_bytes()
    done = command("html", *arguments)
    assert done.status == 2
    assert words in done.err
    assert recording.read_bytes() == before
    assert [path.name for path in recording.parent.iterdir()] == [recording.name]
