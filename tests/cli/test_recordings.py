"""`gradviz graph` and `gradviz ask`: recordings and nets drawn and asked."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz.cli.recordings import QUESTIONS
from tests.cli.conftest import Command

README = Path(__file__).resolve().parents[2] / "README.md"


def test_graph_prints_dot_of_the_end_or_of_another_place(recording: Path, command: Command) -> None:
    session = gradviz.load(recording)
    session.finish()
    assert command("graph", recording.name).out == f"{session.graph().source}\n"
    session.restart()
    session.run_to("Accumulated")
    assert command("graph", recording.name, "--at", "Accumulated").out == f"{session.graph().source}\n"


def test_graph_of_a_net_is_written_as_a_picture_or_in_dot(net: Path, command: Command) -> None:
    assert command("graph", "net.json", "-o", "net.svg").out.startswith("net.svg: ")
    assert Path("net.svg").read_text().startswith("<svg")
    assert command("graph", "net.json", "-o", "net.dot").status == 0
    assert Path("net.dot").read_text().startswith("digraph")


def test_every_question_of_the_readme_can_be_asked(recording: Path, command: Command) -> None:
    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| `session.")]
    assert len(rows) >= 10
    assert {row.partition("session.")[2].partition("(")[0] for row in rows} <= {*QUESTIONS}


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("ledger", ["a"]),
        ("paths", ["x"]),
        ("paths", ["y", "x", "1"]),
        ("why_none", ["x"]),
        ("provenance", ["x_grad"]),
        ("versions", ["x"]),
        ("diff", ["2", "7"]),
        ("state", []),
        ("code", []),
    ],
)
def test_a_recording_answers_as_its_session_does(
    question: str, arguments: list[str], recording: Path, command: Command
) -> None:
    session = gradviz.load(recording)
    session.finish()
    answer = getattr(session, question)(*[int(one) if one.isdigit() else one for one in arguments])
    assert command("ask", recording.name, question, *arguments).out == f"{answer}\n"
    assert json.loads(command("ask", recording.name, question, *arguments, "--json").out) == answer.to_dict()


def test_a_question_is_asked_at_a_place(recording: Path, command: Command) -> None:
    assert command("ask", recording.name, "state", "--at", "0").out.startswith("The state at event 0")
    assert "no gradient yet" in command("ask", recording.name, "why_none", "x", "--at", "3").out


def test_a_net_that_is_fed_has_values_to_ask_for(net: Path, command: Command) -> None:
    assert "agrees with differences" in command("ask", "net.json", "check", "#0", "--feed", "x.npz").out
    assert command("ask", "net.json", "numbers", "x", "0", "1", "--feed", "x.npz").out.startswith("x@0, 2 rows of 3")


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_recording_of_a_net_is_neither_asked_nor_drawn(tmp_path: Path, command: Command) -> None:
    @gradviz.register_kernel("InterruptedOnTheWay")
    def interrupted(op: gradviz.Operator, x: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return x * 1

    net = gradviz.Net("interrupted")
    net.Tanh("x", "a")
    net.add("InterruptedOnTheWay", ["a"], "b")
    net.Tanh("a", "y")
    net.save(tmp_path / "interrupted.json")
    for question in (["ask", "interrupted.json", "ledger", "x"], ["graph", "interrupted.json", "-o", "drawn.svg"]):
        done = command(*question, "--feed", "x=1.0", "--ys", "y")
        assert (done.status, done.out) == (130, "")
        assert done.err == f"gradviz {question[0]}: interrupted\n"
    assert not (tmp_path / "drawn.svg").exists()


def test_recordings_of_variables_are_asked_and_drawn(command: Command) -> None:
    x = gradviz.Variable(np.linspace(-1, 1, 5), name="x")
    gradviz.debug(F.sum(F.tanh(x) * x)).save("code.gradviz.json")
    assert "sum of 2 contributions" in command("ask", "code.gradviz.json", "ledger", "x").out
    assert command("graph", "code.gradviz.json").out.startswith("digraph")


def test_recordings_of_pytorch_are_asked_and_drawn(command: Command) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(3, requires_grad=True)
    gradviz.debug((weight * weight).sum()).save("torch.gradviz.json")
    assert json.loads(command("ask", "torch.gradviz.json", "state", "--json").out)["answer"] == "state"
    assert command("graph", "torch.gradviz.json", "-o", "torch.svg").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask", "lesson.gradviz.json", "ledger", "xx"], "Did you mean x?"),
        (["ask", "lesson.gradviz.json", "ledger", "a", "--at", "Acumulated"], "Did you mean Accumulated?"),
        (["ask", "lesson.gradviz.json", "ledger", "a", "--at", "99"], "There is no position 99"),
        (["ask", "lesson.gradviz.json", "ledger"], "required: BLOB"),
        (["ask", "lesson.gradviz.json", "ledgr", "a"], "choose from 'ledger'"),
        (["ask", "lesson.gradviz.json", "diff", "one"], "invalid int value: 'one'"),
        (["ask", "lesson.gradviz.json", "check", "#0"], "a saved trace keeps statistics, no arrays"),
        (["ask", "lesson.gradviz.json", "state", "--feed", "x.npz"], "--feed and --device are for nets"),
        (["ask", "cut.gradviz.json", "state"], "cut.gradviz.json: This is not JSON"),
        (["ask", "none.gradviz.json", "state"], "none.gradviz.json does not exist"),
        (["graph", "net.json", "-o", "net.png"], "Let it end in .svg"),
        (["graph", "net.json", "-o", "net.json"], "net.json is net.json itself"),
        (["graph", "net.json", "--ys", "yy"], "Did you mean y?"),
        (["graph", "."], ". is no file"),
    ],
)
def test_a_refusal_says_what_and_where(
    arguments: list[str], words: str, recording: Path, net: Path, command: Command
) -> None:
    Path("cut.gradviz.json").write_bytes(recording.read_bytes()[:1000])
    done = command(*arguments)
    assert (done.status, done.out) == (2, "")
    assert words in done.err
