"""The forms of every answer: text, HTML that is safe and takes the page's colours, and JSON."""

import json
import re
from html.parser import HTMLParser

import msgspec
import numpy as np
import pytest

from gradviz import Net, Session, Workspace, debug
from gradviz.debugger.answers import Answer
from gradviz.debugger.document import decode, encode
from tests.debugger.answers.nets import dead, overwritten
from tests.debugger.conftest import skip_net
from tests.debugger.loops import fed, gated

QUESTIONS = {
    "ledger": lambda session: session.ledger("a"),
    "paths": lambda session: session.paths("x"),
    "why_none": lambda session: session.why_none("label"),
    "why_none of one": lambda session: session.why_none("a"),
    "provenance": lambda session: session.provenance("w1_grad", "explosion", factor=1.0001),
    "versions": lambda session: session.versions("a"),
    "check": lambda session: session.check("#0"),
    "diff": lambda session: session.diff(0, len(session)),
    "state": lambda session: session.state(),
}


def merged_rows():
    net = Net()
    net.Gather(["table", "rows"], "g")
    net.SumElements("g", "loss")
    ws = Workspace()
    ws.feed("table", np.ones((3, 2)))
    ws.feed("rows", np.array([1, 1, 0]))
    return debug(net, ["loss"], workspace=ws, deduplicate="sum").rows("table")


ANSWERS = {
    "of a dead net": lambda: dead().provenance("w_grad"),
    "of a pass that stopped": lambda: overwritten().why_none("x"),
    "of a loop": lambda: debug(gated(), ["loss"], workspace=fed(2)).ledger("w"),
    "of merged rows": merged_rows,
}


@pytest.fixture(params=[*QUESTIONS, *ANSWERS])
def answer(request, session):
    session.run_to("Accumulated")
    return QUESTIONS[request.param](session) if request.param in QUESTIONS else ANSWERS[request.param]()


class Balanced(HTMLParser):
    """Raises unless elements are closed in the order in which they were opened."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = set()
        self.attributes = set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    return parser


def test_an_answer_is_frozen_and_equal_to_itself_asked_again(answer):
    assert isinstance(answer, Answer)
    with pytest.raises(AttributeError):
        answer.position = 3
    with pytest.raises(AttributeError):
        answer.blob = "other"


def test_text_and_representation_are_the_same_and_read_well(answer):
    text = str(answer)
    assert repr(answer) == text
    assert text.strip()
    assert not any(line != line.rstrip() for line in text.splitlines())
    assert not re.search(r"\bNone\b|\[\]", text)


def test_html_is_balanced_has_no_script_and_no_colours_of_its_own(answer):
    html = parsed(answer._repr_html_())
    assert html.seen <= {"p", "b", "ul", "li", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "code"}
    assert html.attributes <= {"scope", "colspan", "style"}
    styles = set(re.findall(r'style="([^"]*)"', answer._repr_html_()))
    assert styles <= {"text-align: left", "text-align: right; white-space: nowrap", "white-space: pre"}


def test_html_says_what_the_text_says(answer):
    words = set(re.findall(r"[\w@.#]{3,}", str(answer)))
    shown = re.sub(r"<[^>]+>", " ", answer._repr_html_()).replace("&gt;", ">").replace("&lt;", "<")
    assert words - set(re.findall(r"[\w@.#]{3,}", shown)) == set()


def test_plain_data_is_json_and_says_which_answer_it_is(answer):
    data = answer.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["answer"] == type(answer).answer
    assert {field.name for field in msgspec.structs.fields(answer)} - {"parts"} <= set(data)


def test_names_from_a_file_cannot_become_markup(session):
    trace = session.trace()
    data = encode(msgspec.structs.replace(trace, graph=type(trace.graph)(omitted="not drawn")))
    evil = '<img src=x onerror="alert(1)">'
    session = Session(decode(data.replace(b"FCGradient", evil.replace('"', '\\"').encode())))
    session.run_to("Accumulated")
    asked = 0
    for name, question in QUESTIONS.items():
        if name == "check":
            continue  # it needs arrays, which a file does not have
        answer = question(session)
        assert "<img" not in answer._repr_html_()
        parsed(answer._repr_html_())
        asked += "&lt;img" in answer._repr_html_()
    assert asked >= 4


def test_what_is_not_computed_is_nowhere_zero():
    session = debug(skip_net(), ["loss"])
    session.run_to("Accumulated")
    for question in ("ledger", "paths"):
        answer = QUESTIONS[question](session)
        assert "not computed" in str(answer)
        assert not re.search(r"(?<![\w@.#])0(?![\w@.])", str(answer).split("\n", 2)[2])


def test_numbers_that_json_does_not_have_are_words():
    net = Net()
    net.Log("x", "y")
    net.SumElements("y", "loss")
    ws = Workspace()
    ws.feed("x", np.array([0.0, -1.0]))
    data = debug(net, ["loss"], workspace=ws).provenance("loss").to_dict()
    assert data["chain"][0]["norm"] == "nan"
    json.dumps(data, allow_nan=False)


@pytest.fixture(scope="module")
def read_by_many():
    """x is read by 1 000 operators, whose results are added; in one of its two elements it is NaN."""
    net = Net()
    for number in range(1_000):
        net.Tanh("x", f"y{number}")
    net.Sum([f"y{number}" for number in range(1_000)], "y")
    ws = Workspace()
    ws.feed("x", np.array([1.0, np.nan]))
    session = debug(net, ["y"], workspace=ws)
    session.finish()
    return session


@pytest.mark.parametrize(
    "ask",
    [
        lambda session: session.ledger("x"),
        lambda session: session.paths("x"),
        lambda session: session.why_none("x"),
        lambda session: session.versions("x"),
        lambda session: session.state(),
        lambda session: session.provenance("x_grad"),
        lambda session: session.provenance("y"),
        lambda session: session.provenance("x_grad", "explosion"),
        lambda session: session.diff(0, len(session)),
    ],
)
def test_what_thousands_have_part_in_is_shown_in_a_few_lines(ask, read_by_many):
    answer = ask(read_by_many)
    lines = str(answer).splitlines()
    assert len(lines) < 250
    assert max(map(len, lines)) < 1_000
    assert len(answer._repr_html_()) < 40_000
    json.dumps(answer.to_dict())


def test_all_that_had_part_in_it_is_in_the_data(read_by_many):
    born = read_by_many.provenance("y")
    assert len(born.beside) == 999
    assert "y1@0, y2@0, y3@0, y4@0 and 995 more had it too" in str(born)
    assert len(read_by_many.why_none("x").gradients) == 1_001
    assert "and 961 more" in str(read_by_many.why_none("x"))
