"""What the debugger says about the ten most common mistakes reads as it was agreed on: ``mistakes/*.txt``."""

from pathlib import Path

import pytest

from tests.debugger.answers.mistakes import MISTAKES

TEXTS = Path(__file__).parent / "mistakes"


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_what_is_said_about_a_mistake(mistake):
    assert mistake() == (TEXTS / f"{mistake.__name__}.txt").read_text(encoding="utf-8")


def test_there_are_ten_and_no_text_without_its_mistake():
    assert len(MISTAKES) == 10
    assert {path.stem for path in TEXTS.glob("*.txt")} == {mistake.__name__ for mistake in MISTAKES}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_what_is_said_names_a_blob_and_what_to_do_or_why_not(mistake):
    said = mistake()
    assert "@0" in said
    assert any(words in said for words in ("Ways out", "Every way", "has a gradient", "share"))
