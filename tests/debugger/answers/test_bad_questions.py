"""Whatever is asked, in whichever session and wherever: an answer, or an error of ours with a way out."""

import numpy as np
import pytest

from gradviz import debug, load
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import overwritten
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated

SESSIONS = {
    "fed": lambda: debug(skip_net(), ["loss"], workspace=fed_workspace()),
    "not fed": lambda: debug(skip_net(), ["loss"]),
    "stopped": overwritten,
    "a loop": lambda: debug(gated(), ["loss"], workspace=fed(2)),
    "a loop not fed": lambda: debug(gated(), ["loss"]),
}
QUESTIONS = ("ledger", "rows", "paths", "why_none", "provenance", "versions", "check", "diff")
OF_NOTHING = (None, 3, "", "@", "@0", "x@", "x@-1", ":", "a:b", "#", object(), ["x"], b"x", "x" * 10_000)
OF_NUMBERS = [f"{what}{number}" for what in ("x@", "#") for number in ("²", "9" * 5_000)]
OF_LOOPS = (
    "2.loop_net[9]:x",
    "2.loop_net[1]:",
    "2.loop_net:h",
    "2.cond_net[0]:go",
    "11.cond_net:x",
    "11.loop_net[0]/0.net:h",
    "11.loop_net[0]/0.net:#5",
    "2.cond_net[0]:#0",
    "2.loop_net:#0",
    "2.loop_net[0]/0.net/4.then_net:h",
    "while_0/body/scope@1",
    "go",
    "#2",
)


def asked_for(session, question, asked):
    """The answer or the error."""
    try:
        return getattr(session, question)(asked), None
    except CursorError as error:
        return None, error


@pytest.mark.parametrize("name", SESSIONS)
def test_a_question_is_answered_or_refused_with_a_way_out(name):
    session = SESSIONS[name]()
    for position in (0, len(session) // 2, len(session)):
        session.move_to(position)
        for question in QUESTIONS:
            for asked in (*OF_NOTHING, *OF_NUMBERS, *OF_LOOPS, "x", "loss"):
                answer, error = asked_for(session, question, asked)
                if error is None:
                    assert str(answer)
                    assert answer.to_dict()["answer"] == type(answer).answer
                else:
                    assert error.kind in ("not_found", "not_computed", "bad_argument")
                    assert error.ways_out
        assert session.position == position


def test_whole_numbers_of_numpy_are_those_of_python():
    session = SESSIONS["fed"]()
    session.finish()
    one, three = np.int64(1), np.int32(3)
    for ask in (
        lambda one, three: session.diff(three, one),
        lambda one, three: session.at(three).versions("loss"),
        lambda one, three: session.value("x", at=three).tolist(),
        lambda one, three: session.numbers("x", one, one),
        lambda one, three: session.paths("x", k=three),
        lambda one, three: session.check("x", samples=three),
        lambda one, three: session.break_on("Ran", ignore=one, every=three).hits,
    ):
        assert str(ask(one, three)) == str(ask(1, 3))
    for wrong in (True, 1.0, np.float64(1), np.arange(2), "1"):
        with pytest.raises(CursorError) as caught:
            session.diff(wrong, 2)
        assert caught.value.kind == "bad_argument"


def test_a_message_that_is_no_text_is_refused():
    session = SESSIONS["fed"]()
    with pytest.raises(CursorError) as caught:
        session.break_on("Ran", log=5)
    assert caught.value.kind == "bad_argument"
    assert not session.breakpoints


def test_a_question_of_a_file_without_what_it_asks_for_is_no_fault_of_the_file(tmp_path):
    debug(skip_net(), ["loss"], workspace=fed_workspace()).save(tmp_path / "saved.gradviz.json")
    saved = load(tmp_path / "saved.gradviz.json")
    with pytest.raises(TypeError, match=r"check\(\) missing 1 required positional argument"):
        saved.check()
    with pytest.raises(TypeError, match="unexpected keyword argument 'blob_name'"):
        saved.ledger(blob_name="x")
