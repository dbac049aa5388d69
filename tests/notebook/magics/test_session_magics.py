"""Magics that step and ask a session: where they lead, what they show, and what they say where they mean nothing."""

import ast
import re
from typing import Any

import pytest

from tests.notebook.conftest import Kernel, Panel
from tests.notebook.magics.conftest import Answered, Terminal

ALL = [
    "step", "over", "back", "into", "out", "run_to", "continue", "finish", "restart", "where", "value",
    "ledger", "why", "break", "watch", "session",
]  # fmt: skip


def refusal(answered: Answered) -> str:
    """What a magic says that means nothing: no traceback."""
    assert answered.problem.startswith("UsageError: ")
    assert "Traceback" not in answered.problem
    return answered.problem


@pytest.mark.parametrize(
    ("magic", "python"),
    [
        ("%step", "step()"),
        ("%step 4", "move_to(4)"),
        ("%over", "over()"),
        ("%into", "into()"),
        ("%out", "out()"),
        ("%run_to Accumulated", "run_to('Accumulated')"),
        ("%run_to s_autogen_grad", "run_to('s_autogen_grad')"),
        ("%run_to norm > 1", "run_to('norm > 1')"),
        ("%run_to 7", "run_to(7)"),
        ("%continue", "continue_()"),
        ("%finish", "finish()"),
    ],
)
def test_each_verb_leads_where_python_leads_and_shows_it(terminal: Terminal, magic: str, python: str) -> None:
    shown = terminal.run(magic)
    assert not shown.problem
    position = terminal.value("session.position")
    other = terminal.value("gradviz.debug(net, ['s'], workspace=ws)")
    eval(f"other.{python}", {"other": other})
    assert position == other.position
    said = terminal.value("session.narration").replace("`", "")
    assert f"twice: event {position} of " in shown.text
    assert said in shown.text
    assert "<svg" in shown.html


def test_a_verb_says_what_changed_on_the_way(terminal: Terminal) -> None:
    one = terminal.run("%step").text
    assert all(change in one for change in terminal.value("session.state().changed[:3]"))
    many = terminal.run("%run_to Accumulated").text
    assert "Added up: x_grad@1, the gradient of x@0" in many
    assert "* b" in many
    assert "Undone. Added up" in terminal.run("%back 3").text
    assert terminal.value("type(session.event).__name__") == "RuleApplied"


def test_the_picture_has_the_operator_and_its_neighbours_and_not_the_whole_graph(terminal: Terminal) -> None:
    terminal.run(
        "long = gradviz.Net('long')",
        "for number in range(40): long.Tanh(f'x{number}', f'x{number + 1}')",
        "session = gradviz.debug(long, ['x40'], workspace=ws)",
    )
    shown = terminal.run("%run_to #20")
    nodes = re.findall(r"<title>Tanh #(\d+)", shown.html)
    assert "20" in nodes
    assert 2 <= len(nodes) <= 6
    assert len(shown.text.splitlines()) < 20


def test_in_a_loop_a_verb_says_where_it_is_and_shows_the_lines_there(terminal: Terminal) -> None:
    terminal.run(
        "power = gradviz.Net('power')",
        "with power.While('go') as loop:",
        "    with loop.condition():",
        "        power.LT(['i', 'n'], 'go')",
        "    power.Mul(['x', 'w'], 'x')",
        "    power.Add(['i', 'one'], 'i')",
        "for name, number in dict(x=2.0, w=3.0, i=0, n=4, one=1).items(): ws.feed(name, number)",
        "session = gradviz.debug(power, ['x'], workspace=ws)",
    )
    shown = terminal.run("%run_to iteration 3", "%into", "%run_to Mul")
    assert ", in 2.loop_net[3]/0.net" in shown.text
    assert re.search(r"\* #0 +x@1 = Mul\(x@0, w@0\)", shown.text)
    assert "x@1 = 162: scalar float64" in terminal.run("%value x").text
    terminal.run("%out", "%out")
    assert terminal.value("session.path") == ()


def test_what_stays_at_an_end_says_so(terminal: Terminal) -> None:
    assert "This is the start" in terminal.run("%back").text
    terminal.run("session.finish();")
    assert "This is the end" in terminal.run("%step").text
    assert "Undone. " in terminal.run("%restart").text
    assert "This is the start" in terminal.run("%restart").text


@pytest.mark.parametrize(("magic", "python"), [("%ledger x", "ledger('x')"), ("%why x", "why_none('x')")])
def test_questions_show_the_answers_of_the_session(terminal: Terminal, magic: str, python: str) -> None:
    terminal.run("session.finish();")
    shown = terminal.run(magic)
    assert terminal.value(f"str(session.{python})") in shown.text
    assert terminal.value(f"session.{python}._repr_html_()") in shown.html


def test_a_value_shows_its_numbers_their_range_and_their_histogram(terminal: Terminal) -> None:
    shown = terminal.run("%value x").text
    assert "x@0: 40 float64, norm 3.74" in shown
    assert "min -1" in shown
    assert "▁" in shown or "█" in shown
    assert "-0.9487" in shown
    assert "the first of 40 numbers" in shown
    later = terminal.run("%value a").text
    assert "a@0: 40 float64" in later
    assert "It is computed later" in later
    terminal.run("session.finish();")
    assert "later" not in terminal.run("%value a@0").text


def test_breakpoints_and_watches_are_those_of_the_session(terminal: Terminal) -> None:
    assert "norm > 3" in terminal.run("%break norm > 3").text
    assert terminal.value("[one.on for one in session.breakpoints]") == ["norm > 3"]
    terminal.run("%continue")
    assert terminal.value("session.stopped.breakpoint.on") == "norm > 3"
    assert "norm(a)" in terminal.run("%watch norm(a)").text
    assert terminal.value("session.watches.entries") == ["norm(a)"]
    assert "norm > 3" in terminal.run("%break").text


@pytest.mark.parametrize(
    ("magic", "words"),
    [
        ("%step abc", "%step takes a number of events, 1 or more, and not abc."),
        ("%step -1", "Usage: %step [n]"),
        ("%back 0", "Usage: %back [n]"),
        ("%over 3", "%over takes nothing, and there is 3."),
        ("%run_to", "Usage: %run_to"),
        ("%run_to Acumulated", "Did you mean Accumulated"),
        ("%run_to norm >> 3", "makes no sense here"),
        ("%run_to 99999", "There is no position 99999"),
        ("%value", "%value takes something behind it."),
        ("%value s_autogen_grd", "Did you mean s_autogen_grad"),
        ("%ledger nobody", "Usage: %ledger BLOB"),
        ("%why nobody", "Usage: %why BLOB"),
        ("%break norm >", "Usage: %break"),
        ("%watch norm(nobody)", "Usage: %watch"),
        ("%session sesion", "Did you mean session?"),
        ("%session np", "np is a module, and no session."),
    ],
)
def test_wrong_use_is_answered_with_the_right_use(terminal: Terminal, magic: str, words: str) -> None:
    assert words in refusal(terminal.run(magic))
    assert terminal.value("(session.position, len(session.breakpoints), len(session.watches))") == (0, 0, 0)


def test_without_a_session_magics_say_how_to_get_one(terminal: Terminal) -> None:
    assert "There is no session" in terminal.run("del session", "%session").text
    for name in ("step", "where", "value x", "break", "session nobody"):
        assert "There is no session" in refusal(terminal.run(f"%{name}"))


def test_the_current_session_is_the_one_displayed_moved_or_made_last(terminal: Terminal) -> None:
    terminal.run("other = gradviz.debug(net, ['a'], workspace=ws)")
    terminal.run("%step")
    assert terminal.value("(session.position, other.position)") == (0, 1)
    terminal.run("session")
    terminal.run("%step")
    assert terminal.value("(session.position, other.position)") == (1, 1)
    terminal.run("other.step();")
    terminal.run("%step")
    assert terminal.value("(session.position, other.position)") == (1, 3)
    terminal.run("%session session")
    terminal.run("%step")
    assert terminal.value("(session.position, other.position)") == (2, 3)
    terminal.run("third = gradviz.debug(net, ['a'], workspace=ws)", "del third", "import gc", "gc.collect()")
    terminal.run("%step")
    assert terminal.value("(session.position, other.position)") == (3, 3)


def test_sessions_are_listed_and_chosen_by_variable_label_and_name(terminal: Terminal) -> None:
    terminal.run("other = gradviz.debug(net, ['a'], workspace=ws)")
    rows = [line.split() for line in terminal.run("%session").text.splitlines() if "twice" in line]
    assert [row[-1] for row in rows] == ["session", "other"]
    assert [row[0] == "current" for row in rows] == [False, True]
    label = re.search(r"twice · cell \d+", terminal.run("%session").text)
    assert label is not None
    terminal.run(f"%session {label[0]}")
    terminal.run("%step")
    assert terminal.value("session.position") == 1
    terminal.run("%session twice", "%step")
    assert terminal.value("other.position") == 1


def test_verbs_of_a_live_pass_run_what_is_next(terminal: Terminal) -> None:
    terminal.run("live = gradviz.live(net, ['s'], workspace=ws)")
    shown = terminal.run("%step")
    assert "Computed: a@0, 40 float64" in shown.text
    assert "Next: #1 Sum, which has not run yet." in shown.text
    assert terminal.value("live.next") == "#1 Sum"
    terminal.run("%over")
    assert terminal.value("live.next") == "the backward pass"
    terminal.run("%back 2")
    assert terminal.value("(live.next, len(live.session) - live.session.position)") == ("the backward pass", 2)
    terminal.run("%step 2", "%run_to x_grad")
    assert terminal.value("type(live.session.event).__name__") == "RuleApplied"
    terminal.run("live.session.finish();")
    assert "No event" in refusal(terminal.run("%run_to Accumulted"))
    terminal.run("%back 3", "%finish")  # from behind, too
    assert terminal.value("live.next") is None
    assert "This is the end" in terminal.run("%step").text


def test_more_steps_than_a_live_pass_has_lead_to_its_end(terminal: Terminal) -> None:
    terminal.run("live = gradviz.live(net, ['s'], workspace=ws)")
    assert "The backward pass is whole" in terminal.run(f"%step {10**30}").text
    assert terminal.value("live.next") is None


def test_a_breakpoint_of_a_live_pass_may_be_at_what_is_to_come(terminal: Terminal) -> None:
    terminal.run("live = gradviz.live(net, ['s'], workspace=ws)")
    assert "nothing is called so by now" in terminal.run("%break x_grad if norm > 0").text
    assert "nothing that is called 'x_gard'" in refusal(terminal.run("%break x_gard"))
    terminal.run("%continue")
    assert terminal.value("live.session.stopped.breakpoint.on") == "x_grad if norm > 0"


def test_a_live_pass_goes_on_from_a_breakpoint_behind_which_more_has_happened(terminal: Terminal) -> None:
    terminal.run("live = gradviz.live(net, ['s'], workspace=ws)", "%break Seeded")
    terminal.run("%continue")
    assert terminal.value("live.session.position < len(live.session)")
    assert terminal.value("live.next") is not None
    terminal.run("%continue")
    assert terminal.value("live.next") is None


def test_a_blob_of_a_run_of_a_nested_net_is_shown_by_its_path(terminal: Terminal) -> None:
    terminal.run("from tests.debugger.loops import fed, gated")
    terminal.run("session = gradviz.debug(gated(), ['loss'], workspace=fed(3))")
    terminal.run("%run_to 2.loop_net[1]")
    for run, is_later in ((0, False), (2, True)):
        blob = f"2.loop_net[{run}]/0.net:h@1"
        shown = terminal.run(f"%value {blob}")
        assert not shown.problem
        assert shown.text.strip().startswith(f"{blob}:")
        norm = terminal.value(f"float(np.linalg.norm(session.value('{blob}')))")
        assert f"norm {norm:.3g}" in shown.text
        assert ("It is computed later" in shown.text) == is_later
    assert "no blob 2.loop_net[9]:h" in refusal(terminal.run("%value 2.loop_net[9]:h"))


def test_a_live_pass_is_listed_once_however_far_it_has_gone(terminal: Terminal) -> None:
    terminal.run("import gc; gc.disable()")
    terminal.run("live = gradviz.live(net, ['s'], workspace=ws)")
    label = terminal.value("live.session.name")
    terminal.run("%step 2", "first = live.session")
    terminal.run("%step 2")
    shown = terminal.run("%session").text
    terminal.run("gc.enable()")
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("  ")][1:] == [label, "current"]
    assert [line.split()[-1] for line in shown.splitlines() if "current" in line] == ["live"]
    assert "the backward pass" not in terminal.run("%session first").text
    assert "first" in terminal.run("%session").text


def test_an_operator_that_fails_live_is_told_without_a_traceback(terminal: Terminal) -> None:
    terminal.run("short = gradviz.Net('short')", "short.Mul(['x', 'k'], 'y')")
    terminal.run("live = gradviz.live(short, ['y'], workspace=ws)")
    assert "k" in refusal(terminal.run("%step"))
    terminal.run("live.feed('k', np.ones(40))", "%step")
    assert terminal.value("live.next") == "the backward pass"


@pytest.mark.parametrize("jedi", [False, True])
@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%value s_", ["s_autogen_grad"]),
        ("%ledger x", ["x", "x_grad"]),
        ("%why x@", ["x@0"]),
        ("%run_to Acc", ["Accumulated"]),
        ("%run_to #", ["#0", "#1"]),
        ("y = 1\n%break norm(s_", ["s_autogen_grad", "s_autogen_grad@0"]),
        ("%watch norm(s_", ["s_autogen_grad"]),
        ("%watch norm(`s_", ["`s_autogen_grad`"]),
        ("%session ses", ["session"]),
        ("%session twi", ["twice · cell 2"]),
    ],
)
def test_blobs_targets_and_sessions_are_offered(terminal: Terminal, text: str, offered: list[str], jedi: bool) -> None:
    assert terminal.offered(text, jedi=jedi) == offered


@pytest.mark.parametrize("name", ALL)
def test_help_says_how_each_is_used_and_gives_an_example(terminal: Terminal, name: str) -> None:
    shown = terminal.run(f"%{name}?").text
    assert f"Usage: %{name}" in shown
    assert f"Example: %{name}" in shown


def test_the_extension_alone_is_enough_and_goes_again(bare_terminal: Terminal) -> None:
    assert not bare_terminal.run("%load_ext gradviz").problem
    assert "There is no session" in bare_terminal.run("%session").text
    assert not bare_terminal.run("%unload_ext gradviz").problem
    assert "not found" in bare_terminal.run("%step").problem
    assert "session" not in bare_terminal.offered("%session ses")
    assert not bare_terminal.run("%load_ext gradviz").problem
    assert not bare_terminal.run("%reload_ext gradviz").problem
    assert "There is no session" in bare_terminal.run("%session").text
    assert bare_terminal.offered("%%gradviz --d") == ["--device"]


def test_in_a_kernel_the_panel_follows_and_what_it_chooses_is_current(kernel: Kernel) -> None:
    def value(expression: str) -> Any:
        (output,) = [message for message in kernel.run(expression) if message["msg_type"] == "execute_result"]
        return ast.literal_eval(output["content"]["data"]["text/plain"])

    kernel.run("%load_ext gradviz")
    kernel.run("first = debug(); second = debug(); display(first)")
    panel = Panel(kernel)
    said = panel.heard(kernel.run("%step 3"))
    assert [(one["type"], one["position"]) for one in said] == [("position", 3)]
    panel.say({"type": "choose", "id": value("second.id")})
    (output,) = [one for one in kernel.run("%step") if one["msg_type"] == "display_data"]
    assert set(output["content"]["data"]) == {"text/plain", "text/html"}
    assert value("(first.position, second.position)") == (3, 1)
    panel.say({"type": "position", "id": value("second.id"), "position": 5})
    kernel.run("%back 2")
    assert value("second.position") == 3
