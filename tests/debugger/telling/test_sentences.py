"""Narrations are templates from one table, filled in: how they are joined, and what may fill their places."""

from pathlib import Path

from gradviz.debugger.document import filled
from gradviz.debugger.telling import sentences
from gradviz.debugger.telling.sentences import joined


def told(*narration):
    return filled(*joined(list(narration)))


def test_sentences_have_spaces_between_and_clauses_their_punctuation():
    assert told(("{what} ran", "Tanh #0"), ("in {time}", "2 s"), (".",), ("It is over.",)) == (
        "Tanh #0 ran in 2 s. It is over."
    )


def test_what_fills_a_place_is_not_looked_at_again():
    assert told(("`{blob}` of `{blob}`", "{blob}", "{nothing}"), (", {rest}", r"\1 $&")) == (
        r"`{blob}` of `{nothing}`, \1 $&"
    )


def test_every_sentence_of_the_table_is_told():
    sources = "".join(path.read_text() for path in Path(sentences.__file__).parent.glob("*.py"))
    table = [name for name, text in vars(sentences).items() if name.isupper() and isinstance(text, str)]
    assert len(table) > 100
    assert [name for name in table if f"say.{name}" not in sources] == []
