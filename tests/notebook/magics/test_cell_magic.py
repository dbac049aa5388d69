"""`%%gradviz`: operators that run as cells add them, backward passes of other code, and what is said of a wrong one."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.notebook.conftest import REPOSITORY, Kernel
from tests.notebook.magics.conftest import Terminal

DATA = """
x = np.linspace(-1, 1, 6).reshape(2, 3)
w = np.ones((2, 3))
given = gradviz.Workspace()
given.feed("b", [0.5, 0.25])
"""

LAYER = '%%gradviz --net mlp\nnet.FC(["x", "w", "b"], "h")\nnet.Tanh("h", "a")'


@pytest.fixture
def data(terminal: Terminal) -> Terminal:
    """IPython with the magics and the data of a layer."""
    terminal.run(*DATA.splitlines())
    return terminal


def names(terminal: Terminal, net: str = "mlp") -> list[str]:
    """The types of the operators of a net of the user's."""
    return [op.type for op in terminal.value(net).ops]


def test_operators_of_a_cell_run_one_by_one_and_a_table_says_what_they_did(data: Terminal) -> None:
    shown = data.run(LAYER)
    assert not shown.problem
    tanh = next(line for line in shown.text.splitlines() if line.startswith("  #1"))
    numbers = data.value("mlp_live.session.value('a')").ravel()
    for words in ("#1 Tanh", "h@0 2 × 2 float64", "a@0 2 × 2 float64", *(f"{number:.4g}" for number in numbers)):
        assert words in tanh
    assert "Fed from variables: x and w" in shown.text
    assert "Fed from the workspace given: b" in shown.text
    assert "Tanh #1" in shown.html
    np.testing.assert_allclose(
        data.value("mlp_live.session.value('a')"), np.tanh(data.value("x @ w.T + np.array([0.5, 0.25])"))
    )


def test_numbers_that_are_not_finite_are_counted(terminal: Terminal) -> None:
    terminal.run("x = np.array([-1.0, -1, 0, 1, 1, 1, 1, 1])")
    shown = terminal.run("%%gradviz --net logs", 'net.Log("x", "y")').text
    assert "min 0, mean 0, max 0, NaN 2, infinite 1" in shown


def test_a_loop_is_one_row_with_what_it_has_read_and_written(terminal: Terminal) -> None:
    terminal.run("x, w, i, n, one = 2.0, 3.0, 0, 4, 1")
    shown = terminal.run(
        "%%gradviz --net power", 'with net.While("go") as loop:', "    with loop.condition():",
        '        net.LT(["i", "n"], "go")', '    net.Mul(["x", "w"], "x")', '    net.Add(["i", "one"], "i")',
        'net.Sqr("x", "y")',
    )  # fmt: skip
    rows = {line.split()[1]: line for line in shown.text.splitlines() if line.startswith("  #")}
    assert [*rows] == ["ConstantFill", "CreateScope", "While", "Sqr"]
    assert rows["While"].rstrip().endswith("0, 162, 4")
    assert "x@1 scalar float64" in rows["While"]
    assert rows["Sqr"].rstrip().endswith("2.624e+04")


def test_the_next_cell_goes_on_and_ys_begin_the_backward_pass(data: Terminal) -> None:
    data.run(LAYER)
    shown = data.run("%%gradviz --net mlp --ys y", 'net.Mul(["a", "h"], "y")')
    assert "#2 Mul" in shown.text
    assert "#1 Tanh" not in shown.text.split("Forward")[0]
    assert data.value("mlp_live.next") == "MulGradient of the backward pass"
    data.run("%step")
    assert data.value("mlp_live.next") == "TanhGradient of the backward pass"
    data.run("%continue")
    whole = data.value("gradviz.debug(mlp, ['y'], workspace=mlp_live.workspace)")
    for name in ("w_grad", "b_grad", "x_grad"):
        np.testing.assert_array_equal(data.value("mlp_live.session").value(name), whole.value(name))
    assert "w_grad@0" in data.run("%ledger w").text


def test_what_a_cell_defines_is_the_users_and_net_is_what_it_was(data: Terminal) -> None:
    before = data.value("net")
    data.run(LAYER, "factor = 3", "factor * 2")
    assert data.value("(factor, _)") == (3, 6)
    assert data.value("net") is before
    data.run("del net", "other = gradviz.Net('other')")
    data.run("%%gradviz --net other", 'net.Tanh("x", "y")')
    assert "net" not in data.shell.user_ns
    assert names(data, "other") == ["Tanh"]
    data.run("%%gradviz", 'net.Sin("x", "y")')
    assert names(data, "net") == ["Sin"]


def test_a_cell_that_is_run_twice_says_that_its_operators_are_there_twice(data: Terminal) -> None:
    again = 'To begin anew, write net = gradviz.Net("mlp") first.'
    cell = "%%gradviz --net mlp", 'net.Tanh("x", "t")'
    assert again not in data.run(*cell).text
    assert again not in data.run("%%gradviz --net mlp", 'net.Relu("t", "r")').text
    assert again in data.run(*cell).text


def test_a_variable_that_has_changed_since_the_net_has_read_it_is_named(data: Terminal) -> None:
    data.run(LAYER)
    data.run("w = w * 3", "x = list(map(list, x))")  # these are the same numbers
    behind = "As the net has it, not as it is outside by now: w."
    shown = data.run("%%gradviz --net mlp", 'net.MatMul(["x", "w"], "m", trans_b=1)')
    assert behind in shown.text
    assert 'mlp_live.feed("w", ...) in a cell before this one gives the new value.' in shown.text
    data.run('mlp_live.feed("w", w);')
    shown = data.run("%%gradviz --net mlp", 'net.MatMul(["x", "w"], "n", trans_b=1)')
    assert behind not in shown.text
    np.testing.assert_allclose(data.value("mlp_live.workspace['n']"), data.value("mlp_live.workspace['m'] * 3"))


def test_a_cell_that_makes_the_net_anew_begins_anew(data: Terminal) -> None:
    data.run(LAYER)
    shown = data.run("%%gradviz --net mlp --ys y", 'net = gradviz.Net("mlp")', 'net.Tanh("x", "y")')
    assert names(data) == ["Tanh"]
    assert "#0 Tanh" in shown.text
    data.run("%continue")
    assert data.value("mlp_live.session.value('x_grad').shape") == (2, 3)


def test_a_net_that_a_cell_makes_anew_by_its_own_name_is_kept(data: Terminal) -> None:
    for _ in range(2):  # where there is none of this name, and where there is one
        shown = data.run("%%gradviz --net mlp --ys y", 'mlp = gradviz.Net("mlp")', 'mlp.Tanh("x", "y")')
        assert not shown.problem
        assert names(data) == ["Tanh"]
        assert "#0 Tanh" in shown.text


@pytest.mark.parametrize(("name", "made"), [("net", "net"), ("mlp", "net"), ("mlp", "mlp")])
def test_a_cell_that_fails_after_it_has_made_the_net_anew_leaves_the_one_before(
    data: Terminal, name: str, made: str
) -> None:
    data.run(f"%%gradviz --net {name}", f'net = gradviz.Net("{name}")', 'net.Tanh("x", "y")')
    before = data.value(name)
    failed = data.run(f"%%gradviz --net {name}", f'{made} = gradviz.Net("{name}")', f'{made}.Sin("x", "s")', "1 / 0")
    assert "ZeroDivisionError" in failed.problem
    assert data.value(name) is before
    assert not data.run(f"%%gradviz --net {name}", 'net.Cos("y", "z")').problem
    assert names(data, name) == ["Tanh", "Cos"]


INTERRUPTED = """
import signal
@gradviz.register_kernel("Interrupted")
def interrupted(op, x):
    signal.raise_signal(signal.SIGINT)
"""


def test_operators_that_an_interrupt_has_kept_from_running_are_taken_out(
    data: Terminal, own_types: None, ctrl_c: None
) -> None:
    data.run(*INTERRUPTED.splitlines())
    data.run(LAYER)
    failed = data.run("%%gradviz --net mlp", 'net.Relu("a", "r")', 'net.Interrupted("r", "y")', 'net.Sin("r", "s")')
    assert "KeyboardInterrupt" in failed.problem
    assert names(data) == ["FC", "Tanh", "Relu"]
    assert not data.run("%%gradviz --net mlp --ys y", 'net.Sin("r", "y")').problem
    assert names(data) == ["FC", "Tanh", "Relu", "Sin"]


def test_a_mistyped_y_is_said_before_anything_runs_so_that_the_cell_can_be_run_again(data: Terminal) -> None:
    data.run(LAYER)
    cell = 'net.Mul(["a", "h"], "y")'
    refused = data.run("%%gradviz --net mlp --ys z", cell).problem
    assert "The net has no blob z to differentiate" in refused
    assert "The net is as it was before the cell" in refused
    assert names(data) == ["FC", "Tanh"]
    assert not data.run("%%gradviz --net mlp --ys y", cell).problem
    assert names(data) == ["FC", "Tanh", "Mul"]
    assert data.value("mlp_live.session.value('y')").shape == (2, 2)


def test_what_an_operator_lacks_that_the_net_had_before_can_be_corrected(data: Terminal) -> None:
    data.run("other = gradviz.Net('other')", "other.Tanh('x', 't')", "other.FC(['t', 'k', 'b'], 'h')")
    data.run("k = np.ones((2, 5))")
    assert "takes 5" in data.run("%%gradviz --net other", 'net.Tanh("h", "y")').problem
    data.run("k = np.ones((2, 3))")
    assert not data.run("%%gradviz --net other", 'net.Tanh("h", "y")').problem
    assert names(data, "other") == ["Tanh", "FC", "Tanh"]
    assert data.value("other_live.left") == 0


@pytest.mark.parametrize(("line", "words"), [("1 / 0", "ZeroDivisionError"), ("None", "was changed in what has run")])
def test_operators_that_a_refused_cell_takes_out_are_put_back(data: Terminal, line: str, words: str) -> None:
    data.run(LAYER)
    assert words in data.run("%%gradviz --net mlp", "net.ops.pop()", line).problem
    assert names(data) == ["FC", "Tanh"]
    assert not data.run("%%gradviz --net mlp", 'net.Sin("a", "s")').problem


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('net.Mul(["a", "k"], "y")', "Nothing has a value for k: no operator before, no variable and no Workspace."),
        ('word = "k"\nnet.Mul(["a", "word"], "y")', "no Workspace, and the variable word is a str."),
        ('net.Tahn("a", "y")', "Did you mean Tan or Tanh"),
        ("1 / 0", "ZeroDivisionError"),
        ("if k:\n    1\n  2", "UsageError: The cell has failed"),
    ],
)
def test_a_cell_that_cannot_run_leaves_the_net_as_it_was(data: Terminal, line: str, words: str) -> None:
    data.run(LAYER)
    failed = data.run("%%gradviz --net mlp", 'net.Relu("a", "r")', line)
    assert words in failed.problem
    assert names(data) == ["FC", "Tanh"]
    data.run("k = np.ones((2, 2))")
    assert not data.run("%%gradviz --net mlp --ys y", 'net.Relu("a", "r")', 'net.Mul(["r", "k"], "y")').problem
    assert data.value("mlp_live.session.value('r').shape") == (2, 2)


def test_what_ran_before_an_operator_fails_stays_and_is_shown(data: Terminal) -> None:
    data.run(LAYER)
    failed = data.run("%%gradviz --net mlp", "k = np.ones((5, 2))", 'net.Relu("a", "r")', 'net.Mul(["r", "k"], "y")')
    assert "#2 Relu" in failed.problem + failed.text
    assert "do not broadcast" in failed.problem
    assert "What has not run is taken out of the net" in failed.problem
    assert names(data) == ["FC", "Tanh", "Relu"]
    assert not data.run("%%gradviz --net mlp", "k = np.full((2, 2), 2.0)", 'net.Mul(["r", "k"], "y")').problem
    np.testing.assert_allclose(data.value("mlp_live.session.value('y')"), 2 * data.value("mlp_live.session.value('r')"))


def test_no_operator_joins_once_the_backward_pass_has_begun(data: Terminal) -> None:
    data.run(LAYER)
    data.run("%%gradviz --net mlp --ys a", "# back")
    refused = data.run("%%gradviz --net mlp", 'net.Relu("a", "r")').problem
    assert "after its backward pass has begun" in refused
    assert 'Begin anew: write net = gradviz.Net("mlp") first' in refused
    assert "correct it" not in refused
    assert not data.run("%continue").problem
    assert data.value("mlp_live.next") is None


def test_operators_run_on_the_device_that_is_named(data: Terminal, cupy: Any) -> None:
    shown = data.run("%%gradviz --net mlp --device cuda:0", 'net.Tanh("x", "y")')
    assert not shown.problem
    assert data.value("mlp_live.session.event.device") == "cuda:0"
    assert "bad" not in shown.text
    refused = data.run("%%gradviz --net mlp --device cuda:77", 'net.Tanh("y", "z")').problem
    assert "77" in refused
    assert names(data) == ["Tanh"]


@pytest.mark.parametrize(
    ("line", "body", "name"),
    [
        ("", "loss = F.sum(F.tanh(v) * v)", "loss"),
        ("", "y = F.tanh(v)\nF.sum(y * y)", "sum"),
        ("--ys loss", "loss = F.sum(F.tanh(v))\nother = F.sum(v * v)", "loss"),
    ],
)
def test_of_variables_the_backward_pass_is_recorded_and_shown(
    terminal: Terminal, line: str, body: str, name: str
) -> None:
    terminal.run("import gradviz.functions as F", "v = gradviz.Variable(np.linspace(-1, 1, 5), name='v')")
    shown = terminal.run(f"%%gradviz {line}", *body.splitlines())
    assert f"{name}.backward(): event 0 of" in shown.text
    assert not terminal.run("%run_to v_grad").problem
    assert terminal.value("v.grad") is None


def test_of_pytorch_the_backward_pass_is_recorded_with_names_of_modules_and_variables(terminal: Terminal) -> None:
    shown = terminal.run(
        "%%gradviz",
        "import torch",
        "model = torch.nn.Linear(3, 1)",
        "scale = torch.ones(4, 1, requires_grad=True)",
        "loss = (model(torch.ones(4, 3)) * scale).square().mean()",
    )
    assert "loss.backward(): event 0 of" in shown.text
    assert not terminal.run("%run_to weight_grad").problem
    assert not terminal.run("%value scale_grad").problem
    assert terminal.value("model.weight.grad") is None


def test_of_pytorch_all_that_its_calls_return_is_kept(terminal: Terminal) -> None:
    terminal.run(
        "%%gradviz",
        "import torch",
        "model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())",
        "loss = model(torch.ones(1, 3)).sum()",
    )
    shown = terminal.run("%value 0").text
    assert all(f"{number:.4g}" in shown for number in terminal.value("model[0](torch.ones(1, 3)).tolist()[0]"))


def test_an_error_of_pytorch_is_explained_behind_its_traceback(terminal: Terminal) -> None:
    failed = terminal.run(
        "%%gradviz",
        "import torch",
        "t = torch.ones(3, requires_grad=True)",
        "u = t.exp()",
        "u += 1",
        "u.sum().backward()",
    )
    assert "RuntimeError" in failed.problem
    assert "`u` is overwritten by `add_()`" in failed.text + failed.problem
    assert "UsageError: The cell has failed" in failed.problem


@pytest.mark.parametrize(
    ("line", "body", "words"),
    [
        ("--yes loss", "1", "%%gradviz has no option --yes: it takes --net, --ys and --device."),
        ("--ys", "1", "--ys takes a word behind it."),
        ("--ys=,", "1", "--ys takes a word behind it."),
        ("--ys loss --ys other", "1", "--ys is there twice."),
        ("--device moon", "1", "'moon' is not a device."),
        ("--net mlp --device moon", "loss = 1", "'moon' is not a device."),
        ("--device cpu", "loss = gradviz.functions.sum(gradviz.Variable(x))", "and this one adds none"),
        ("--net class", "1", "class is the name of none"),
        ("--net np", "1", "np is a module, and no net."),
        ("--net 3d", "1", "the name of none"),
        ("--net mlp --ys nobody", 'net.Tanh("x", "y")', "nobody"),
        ("--ys los", "loss = gradviz.functions.sum(gradviz.Variable(x))", "Did you mean loss?"),
        (
            "",
            "1",
            "The cell makes no Variable and no tensor to go backward from.\n  - Compute a loss in it.\n  - Or name",
        ),
        ("", "kept = gradviz.Variable(x)", "Write %%gradviz --ys kept"),
        ("", "a1 = gradviz.functions.sum(gradviz.Variable(x))\nb1 = a1 * a1", "Write %%gradviz --ys a1"),
    ],
)
def test_wrong_use_is_answered_with_the_right_use(data: Terminal, line: str, body: str, words: str) -> None:
    refused = data.run(f"%%gradviz {line}", *body.splitlines()).problem
    assert words in refused
    assert "UsageError: " in refused
    assert "Traceback" not in refused


@pytest.mark.parametrize(
    "cell",
    [
        ("%%gradviz --ys loss", "loss = torch.ones(3).sum()"),
        ("%%gradviz", "torch.ones(3).sum()"),
        ("%%gradviz --ys loss", "with gradviz.no_grad(): loss = gradviz.functions.sum(gradviz.Variable(x))"),
    ],
)
def test_a_loss_without_a_gradient_is_told_why(data: Terminal, cell: tuple[str, ...]) -> None:
    pytest.importorskip("torch")
    data.run("import torch")
    assert "requires no gradient, nor does anything that it was computed from" in data.run(*cell).problem


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%%gradviz --n", ["--net"]),
        ("%%gradviz --net m", ["mlp"]),
        ("%%gradviz --net mlp --ys a", ["a"]),
        ("%%gradviz --device c", ["cpu", "cuda:0"]),
    ],
)
def test_options_nets_and_blobs_are_offered(data: Terminal, text: str, offered: list[str]) -> None:
    data.run(LAYER)
    assert data.offered(text) == offered
    assert data.offered(text, jedi=True) == offered


def test_help_says_how_it_is_used(terminal: Terminal) -> None:
    shown = terminal.run("%%gradviz?").text
    assert "Usage: %%gradviz [--net NAME] [--ys loss] [--device cuda:0]" in shown
    assert "Example: %%gradviz --net mlp --ys loss" in shown


LINES = r"""
%load_ext gradviz
import numpy as np, gradviz
x = np.ones((2, 2))
%%gradviz --ys y
net.Tanh("x", "y")


%step
%step abc
%value x_grad
%run_to 1
"""


def test_in_a_terminal_all_is_text_and_cells_have_their_names(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--colors=nocolor", "--no-banner"]
    shown = subprocess.run(
        command,
        input=LINES,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    for words in (
        "#0 Tanh",
        "Fed from variables: x",
        "x_grad@0 = TanhGradient(y@0, y_autogen_grad@0)",
        "UsageError: %step takes a number of events",
        "x_grad@0: 2 × 2 float64",
    ):
        assert words in shown.stdout + shown.stderr
    assert re.search(r"cell \d+:2", shown.stdout)
    assert "Traceback" not in shown.stdout + shown.stderr
    assert "<svg" not in shown.stdout


def test_a_cell_that_awaits_is_refused_in_a_kernel_and_runs_in_a_terminal(kernel: Kernel, data: Terminal) -> None:
    cell = 'import asyncio\nawait asyncio.sleep(0)\nnet.Tanh("x", "y")'
    kernel.run("%load_ext gradviz")
    answers = kernel.send("execute_request", code=f"%%gradviz --net waits\n{cell}", silent=False, store_history=True)
    said = "".join(one["content"]["text"] for one in answers if one["msg_type"] == "stream")
    assert "UsageError: The cell awaits" in said
    assert "RuntimeError" not in said
    kernel.run("assert 'waits' not in globals() and 'asyncio' not in globals()")
    assert not data.run("%%gradviz --net waits", *cell.splitlines()).problem
    assert names(data, "waits") == ["Tanh"]


def test_in_a_kernel_the_widget_is_shown_and_follows(kernel: Kernel) -> None:
    kernel.run("%load_ext gradviz")
    kernel.run("x = np.ones((2, 2))")
    messages = kernel.run('%%gradviz --net shown --ys y\nnet.Tanh("x", "a")\nnet.Sin("a", "y");')
    table, widget = (one["content"]["data"] for one in messages if one["msg_type"] == "display_data")
    assert "<svg" in table["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in widget
    updates = [
        message["content"]["data"]["state"]
        for message in kernel.run("%step")
        if message["msg_type"] == "comm_msg" and message["content"]["data"].get("method") == "update"
    ]
    assert any("SinGradient" in state.get("trace", "") for state in updates)
    (count,) = [one["content"]["execution_count"] for one in messages if one["msg_type"] == "execute_input"]
    (placed,) = [one for one in kernel.run("%run_to 1") if one["msg_type"] == "display_data"]
    assert f"cell {count}:2" in placed["content"]["data"]["text/plain"]
