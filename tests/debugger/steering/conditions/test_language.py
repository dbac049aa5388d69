"""The language of conditions: what a text means, and where one that means nothing is at fault."""

import math

import pytest

from gradviz import GradvizError
from gradviz.debugger.steering import ConditionError
from gradviz.debugger.steering.conditions import PHRASES, column_of, evaluate, parse, shown, truth
from tests.debugger.steering.conditions.cases import TABLE

WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def read(value):
    """A value of the table as a context gives it: NaN and the infinities are words there."""
    if isinstance(value, list):
        return [read(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return WORDS.get(value, value)


def known(thing, attribute):
    """A field of the things of the table: one row."""
    return column_of([read(TABLE["context"].get(thing, {}).get(attribute))])


def label(case):
    return case["text"][:40]


@pytest.mark.parametrize("case", TABLE["conditions"], ids=label)
def test_a_condition_means_what_the_table_says(case):
    found = evaluate(parse(case["text"]), known).at(0)
    assert found == read(case["result"])
    assert type(found) is type(read(case["result"]))


@pytest.mark.parametrize("case", TABLE["malformed"], ids=label)
def test_a_malformed_condition_says_where(case):
    with pytest.raises(ConditionError) as raised:
        parse(case["text"])
    assert raised.value.position == case["error"]
    assert raised.value.kind == "bad_condition"


@pytest.mark.parametrize("case", TABLE["meant"], ids=label)
def test_a_word_with_a_mistake_in_it_is_known_again(case):
    with pytest.raises(ConditionError) as raised:
        parse(case["text"])
    assert [way for way in raised.value.ways_out if way.startswith("Did")] == [case["meant"]] * bool(case["meant"])


@pytest.mark.parametrize("case", TABLE["truths"], ids=label)
def test_a_condition_is_true_or_false(case):
    node = parse(case["text"])
    if "error" not in case:
        assert truth(case["text"], node) is node
        return
    with pytest.raises(ConditionError, match="neither true nor false") as raised:
        truth(case["text"], node)
    assert raised.value.position == case["error"]


@pytest.mark.parametrize(("value", "text"), TABLE["shown"], ids=str)
def test_results_read_the_same_everywhere(value, text):
    assert shown(read(value)) == text


def test_the_phrases_are_those_of_the_table():
    assert TABLE["phrases"] == PHRASES
    for condition in PHRASES.values():
        assert parse(condition).type == "truth"


def test_an_error_shows_the_place_under_the_text():
    with pytest.raises(GradvizError) as raised:
        parse("norm >> 3")
    assert str(raised.value).splitlines()[1:3] == ["    norm >> 3", "          ^"]


def test_a_word_with_a_mistake_in_it_is_told_from_a_blob():
    with pytest.raises(ConditionError, match="Did you mean norm"):
        parse("nrm > 3")
    with pytest.raises(ConditionError) as raised:
        parse("x > 3")
    assert raised.value.ways_out == ("Ask for what is known of it: norm(x).",)


def test_a_text_of_several_lines_is_shown_on_one():
    with pytest.raises(ConditionError) as raised:
        parse("norm >\n\n!")
    assert str(raised.value).splitlines()[1:3] == ["    norm >  !", "            ^"]


@pytest.mark.parametrize(
    "text",
    [
        "().__class__",
        "__import__('os').system('true')",
        "open('x')",
        "x.norm.__class__",
        "[c for c in x]",
        "x[0]",
    ],
)
def test_nothing_of_python_is_reached(text):
    with pytest.raises(ConditionError):
        parse(text)
