"""Cells that a session makes of a part of itself for the notebook of its kernel, run there."""

import ast
import re

import pytest

import gradviz
from gradviz.notebook.cells import NotebookError
from tests.notebook.conftest import Kernel, Panel

INSERT = """
def insert(session, of):
    for cell in session.to_cells(of):
        if cell["cell_type"] == "code":
            done = get_ipython().run_cell(cell["source"])
            done.raise_error()
    return done.result
"""
"""Runs the cells in the kernel; gives what the last one shows."""

RECORDED = {
    "net": "session = debug()",
    "loop": """
loop = gradviz.Net("power")
with loop.While("go") as rounds:
    with rounds.condition():
        loop.LT(["i", "n"], "go")
    loop.Mul(["x", "w"], "x")
    loop.Add(["i", "one"], "i")
fed = gradviz.Workspace()
for name, value in {"x": 2.0, "w": 3.0, "i": 0, "n": 4, "one": 1}.items():
    fed.feed(name, value)
session = gradviz.debug(loop, ["x"], workspace=fed)
""",
    "code": """
x = gradviz.Variable(np.linspace(-1, 1, 5), name="x")
session = gradviz.debug(gradviz.functions.sum(gradviz.functions.tanh(x) * x))
""",
    "live": "going = gradviz.live(net, ['s'], workspace=ws); going.finish(); session = None",
}


def result(kernel: Kernel, code: str) -> str:
    """What a cell shows as text."""
    shown = [message["content"] for message in kernel.run(code) if message["msg_type"] == "execute_result"]
    text: str = shown[-1]["data"]["text/plain"]
    return text


def ran(kernel: Kernel, session: str, of: str, target: str = "") -> dict[str, bool]:
    """Which of what the inserted cells computed is as it was recorded."""
    kernel.run(INSERT + (f"{session}.restart(); {session}.run_to({target!r});" if target else f"{session}.finish();"))
    shown = result(kernel, f"insert({session}, {of!r})")
    found: dict[str, bool] = ast.literal_eval(shown)
    return found


@pytest.mark.parametrize(
    ("recorded", "of"),
    [(one, of) for one in ("net", "code", "live") for of in ("operator", "group", "pass")] + [("loop", "pass")],
)
def test_the_cells_run_and_give_what_was_recorded(kernel: Kernel, recorded: str, of: str) -> None:
    kernel.run(RECORDED[recorded])
    session = "going.session" if recorded == "live" else "session"
    found = ran(kernel, session, of, "" if of == "pass" else "RuleApplied")
    assert found
    assert all(found.values())


def test_an_operator_of_the_users_own_runs_again_where_its_kernel_is(kernel: Kernel) -> None:
    kernel.run(
        "seen = []\n"
        "@gradviz.register_kernel('save')\n"
        "def halve(op, x):\n    seen.append(x); return x / op.args['by']\n"
        "@gradviz.register_gradient('save')\n"
        "def rule(op, g_output):\n"
        "    return gradviz.Operator('save', g_output, ['x_grad'], {'by': 2.0}), ['x_grad']\n"
        "own = gradviz.Net('own'); own.add('save', 'x', 'y', by=2.0)\n"
        "session = gradviz.debug(own, ['y'], workspace=ws); seen.clear()"
    )
    assert ran(kernel, "session", "pass") == {"y_autogen_grad": True, "x_grad": True}
    assert result(kernel, "len(seen)") == "2"


def test_a_pass_of_pytorch_is_steps_of_its_engine(kernel: Kernel) -> None:
    pytest.importorskip("torch")
    kernel.run(
        "import torch\nt = torch.linspace(-1, 1, 5, requires_grad=True)\n"
        "loss = (torch.tanh(t) * t).sum(); other = t.exp().sum()\n"
        "session = gradviz.debug([loss, other]); before = len(session), session.position"
    )
    found = ran(kernel, "session", "pass")
    assert found["t_grad"]
    assert all(found.values())
    code = result(kernel, "[cell['source'] for cell in session.to_cells('pass') if cell['cell_type'] == 'code']")
    assert "= gradviz.live([loss, other])" in code
    assert code.count(".step()") == 5
    assert result(kernel, "t.grad is None and before[0] == len(session)") == "True"
    kernel.run("net.Sqr('s', 'loss'); session = gradviz.debug(net, ['loss'], workspace=ws); net.ops.pop()")
    assert ran(kernel, "session", "pass")["x_grad"]  # of the net, though a tensor is called loss
    kernel.run("loss = t * 2; session = gradviz.debug(loss, gradient=torch.full((5,), 3.0)); session.finish()")
    assert ".step()" not in result(kernel, "str(session.to_cells('pass'))")


def test_a_branch_is_made_of_empty_stacks_and_short_to_read(kernel: Kernel) -> None:
    kernel.run(
        "branch = gradviz.Net('branch')\n"
        "with branch.If('is'): branch.Tanh('x', 'y')\n"
        "with branch.Else(): branch.Copy('x', 'y')\n"
        "fed = gradviz.Workspace(); fed.feed('is', True); fed.feed('x', [1.0, 2.0])\n"
        "session = gradviz.debug(branch, ['y'], workspace=fed)"
    )
    for of, gives in (("operator", "y"), ("group", "x_grad")):
        assert ran(kernel, "session", of, "If") == {gives: True}
    code = result(kernel, "[cell['source'] for cell in session.to_cells('operator')]")
    assert re.search(r"ws\w*.run_operator\(gradviz.Operator\(\"CreateScope\", \[\], \[\"if_0/then/scope\"\]\)\)", code)
    assert "run_operator(session.net.ops[2])" in code


def test_what_is_zero_whatever_arrives_has_no_ys_to_begin_at(kernel: Kernel) -> None:
    kernel.run("ends = gradviz.Net('ends'); ends.Tanh('x', 'a'); ends.ZeroGradient('a', []); ends.Sqr('x', 'b')")
    kernel.run("session = gradviz.debug(ends, ['b'], workspace=ws); session.run_to('ZeroGradient')")
    assert ran(kernel, "session", "group", "ZeroGradient") == {"a_grad": True}


def test_a_branch_that_was_not_taken_finds_what_it_takes_a_shape_of(kernel: Kernel) -> None:
    kernel.run(
        "branch = gradviz.Net('branch'); branch.Copy('x', 'y')\n"
        "with branch.If('is'): branch.Mul(['y', 'w'], 'y')\n"
        "fed = gradviz.Workspace(); fed.feed('is', False)\n"
        "for name in ('x', 'w'): fed.feed(name, [1.0, 2.0])\n"
        "session = gradviz.debug(branch, ['y'], workspace=fed)"
    )
    assert all(ran(kernel, "session", "pass").values())


def test_the_cells_take_what_names_mean_at_the_end_wherever_the_session_stands(kernel: Kernel) -> None:
    kernel.run(RECORDED["code"])
    # The first gradient of x was called x_grad@0, and the second x_grad@1, until their sum was called that.
    kernel.run(INSERT + "session.run_to('Accumulated'); cells = session.to_cells('pass'); session.restart()")
    kernel.run("session.run_to('GeneratorAdded'); session.to_cells = lambda of: cells")
    assert ast.literal_eval(result(kernel, "insert(session, 'pass')"))["x_grad"]
    kernel.run(RECORDED["loop"] + "session.run_to('While'); session.run_to('LeftSubnet'); session.back()")
    assert kernel.run("assert session.path") is not None
    assert ast.literal_eval(result(kernel, "insert(session, 'pass')"))["x_grad"]


def test_a_tape_that_stands_still_before_it_adds_gradients_up_has_cells_of_what_has_run(kernel: Kernel) -> None:
    kernel.run(RECORDED["code"])
    kernel.run("y = gradviz.functions.sum(gradviz.functions.sin(x) * x * x)")
    kernel.run("going = gradviz.live(y, schedule='tape'); going.step(); going.step(); going.step()")
    names = ["y_autogen_grad", "mul_1_grad", "mul_grad", "x_grad", "sin_grad", "_x_grad_autosplit_0"]
    assert ran(kernel, "going.session", "pass") == dict.fromkeys(names, True)


def test_what_the_notebook_calls_its_own_stays(kernel: Kernel) -> None:
    kernel.run("session = debug(); live = 1; before = (net, ws, live, session, len(net.ops), session.position)")
    ran(kernel, "session", "pass")
    kernel.run("session.restart()")
    assert result(kernel, "before == (net, ws, live, session, len(net.ops), session.position)") == "True"


def test_a_group_that_a_live_net_makes_as_it_was_is_steps_of_one(kernel: Kernel) -> None:
    kernel.run(
        "chain = gradviz.Net('chain'); chain.Tanh('x', 'a'); chain.Sqr('a', 'b')\n"
        "session = gradviz.debug(chain, ['b'], workspace=ws); session.run_to('TanhGradient')\n"
        "code = [cell['source'] for cell in session.to_cells('group') if cell['cell_type'] == 'code']"
    )
    code = ast.literal_eval(result(kernel, "code"))
    assert '.feed("x", session.value("x@0", at=' in code[0]
    assert '.feed("a_grad", session.value("a_grad@0", at=' in code[0]
    assert re.fullmatch(r'live\w*\.differentiate\({"a": "a_grad"}\)', code[2])
    assert re.fullmatch(r"live\w*\.step\(\)  # x_grad = TanhGradient\(a, a_grad\)", code[3])
    assert ran(kernel, "session", "group", "TanhGradient") == {"x_grad": True}


def test_a_view_gets_them_as_the_file_of_a_notebook_has_them(kernel: Kernel) -> None:
    kernel.run("session = debug()")
    kernel.run("session")
    panel = Panel(kernel)
    question = {"type": "question", "id": "q", "question": "cells", "arguments": ["group"], "position": 1}
    heard = panel.heard(panel.say({"type": "ask", "id": panel.active, "question": question}))
    (answer,) = [message for message in heard if message["type"] == "answer"]
    kinds = [cell["cell_type"] for cell in answer["data"]["cells"]]
    assert (kinds[0], kinds[-1]) == ("markdown", "code")


@pytest.mark.parametrize(
    ("prepare", "ask", "kind", "way_out"),
    [
        ("made = [debug()]", "made[0].to_cells('pass')", "no_name", "session = gradviz.debug(net, ys, workspace=ws)"),
        ("session = debug()", "session.to_cells()", "no_operator", "Step to one"),
        (RECORDED["loop"] + "session.run_to('RuleApplied')", "session.to_cells()", "no_operator", "Step out of it"),
        (
            RECORDED["loop"] + "session.finish()",
            "session.to_cells('operator')",
            "no_values",
            "insert the group, or the whole pass",
        ),
        ("session = debug()", "session.to_cells('everything')", "bad_argument", "'operator', 'group', 'pass'"),
        (
            "long = gradviz.Net()\nfor at in range(150): long.Tanh(f'x{at}' if at else 'x', f'x{at + 1}')\n"
            "session = gradviz.debug(long, ['x150'], workspace=ws)",
            "session.to_cells('pass')",
            "too_large",
            "session.to_notebook",
        ),
        ("session = gradviz.debug(net, ['s'])", "session.to_cells('pass')", "no_values", "Feed the net's inputs"),
    ],
)
def test_what_cannot_be_inserted_says_why_and_the_ways_out(
    kernel: Kernel, prepare: str, ask: str, kind: str, way_out: str
) -> None:
    kernel.run(prepare)
    kernel.run(f"try: {ask}\nexcept gradviz.GradvizError as error: refused = error")
    assert result(kernel, "refused.kind") == repr(kind)
    assert way_out in result(kernel, "print(refused.explain()); ' '.join(refused.ways_out)")


def test_outside_of_a_kernel_a_session_has_no_name(session: gradviz.Session) -> None:
    with pytest.raises(NotebookError) as raised:
        session.to_cells("pass")
    assert raised.value.kind == "no_name"
