"""A sweep: a row for each point of a grid, the same wherever it was computed, and a session for each row."""

import os
import random
import re
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz import GradvizError, Net, Variable, Workspace, register_gradient, register_kernel, sweep

GRID = {"depth": [1, 6], "scale": [0.1, 1.0]}


def deep(depth, scale):
    """As many layers of Tanh, with random weights of a size."""
    h = Variable(np.random.normal(size=(4, 8)), requires_grad=False)
    for layer in range(depth):
        h = F.tanh(F.matmul(h, Variable(scale * np.random.normal(size=(8, 8)), name=f"w{layer}")))
    return F.sum(h * h)


def fed(width, divisor=1.0):
    """y = sum of x / divisor, as a net."""
    net, workspace = Net("divided"), Workspace()
    net.Div(["x", "d"], "q")
    net.SumElements("q", "y")
    workspace.feed("x", np.arange(1.0, width + 1))
    workspace.feed("d", np.full(width, divisor))
    return net, ["y"], workspace


def of_torch(width):
    import torch

    model = torch.nn.Linear(width, 1)
    return model(torch.randn(3, width) + random.random()).square().mean()


def dies(depth):
    if depth == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return deep(depth, 1.0)


def alike(one, other):
    return [(row.point, row.loss, row.gradients) for row in one] == [
        (row.point, row.loss, row.gradients) for row in other
    ]


def test_there_is_a_row_for_each_point_in_the_order_of_the_grid():
    table = sweep(deep, GRID)
    assert [row.point for row in table] == [
        {"depth": 1, "scale": 0.1},
        {"depth": 1, "scale": 1.0},
        {"depth": 6, "scale": 0.1},
        {"depth": 6, "scale": 1.0},
    ]
    assert [row.number for row in table] == [0, 1, 2, 3]
    assert list(table[0].gradients) == ["w0"]
    row = min(table, key=lambda row: row.norm)
    assert row is table[2]
    assert row.norm == pytest.approx(np.sqrt(sum(norm**2 for norm in row.norms.values())))
    assert list(row.norms.values()) == sorted(row.norms.values())
    assert row.gradients["w3"].shape == [8, 8]
    assert repr(row).startswith("<row 2, depth=6, scale=0.1: loss ")


def test_points_may_be_listed():
    assert [row.point for row in sweep(deep, [{"depth": 1, "scale": 1.0}])] == [{"depth": 1, "scale": 1.0}]


def test_a_net_brings_its_ys_and_its_workspace():
    (row,) = sweep(fed, {"width": [3], "divisor": [2.0]})
    assert row.loss == 3.0
    assert row.norms == {"x": pytest.approx(np.sqrt(3) / 2), "d": pytest.approx(np.sqrt(14) / 4)}


def test_a_row_opens_as_a_session_with_the_same_bits():
    with ProcessPoolExecutor(2) as executor:
        table = sweep(deep, GRID, executor=executor, seed=7)
    assert alike(table, sweep(deep, GRID, seed=7))
    assert not alike(table, sweep(deep, GRID, seed=8))
    for row in table:
        session = table.open(row)
        name, norm = next(iter(row.norms.items()))
        assert np.linalg.norm(session.value(f"{name}_grad")) == pytest.approx(norm, rel=1e-15)
        assert session.value(session.trace().ys[0]).sum() == row.loss
    assert repr(table.open(3)) == repr(table.open(table[3]))


def test_threads_take_turns_and_give_the_same():
    with ThreadPoolExecutor(4) as executor:
        assert alike(sweep(deep, GRID, executor=executor), sweep(deep, GRID))


def test_losses_of_pytorch_are_the_same_in_a_process_that_has_not_imported_it():
    pytest.importorskip("torch")
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        table = sweep(of_torch, {"width": [2, 3]}, executor=executor)
    assert [row.error for row in table] == ["", ""]
    assert alike(table, sweep(of_torch, {"width": [2, 3]}))
    assert all(row.loss > 0 and {*row.gradients} == {"weight", "bias"} for row in table)
    session = table.open(1)
    assert session.value("weight_grad").shape == (1, 3)
    session.run_to("weight_grad")
    assert "weight_grad" in session.narration


def test_random_numbers_go_on_as_before():
    np.random.seed(3)
    random.seed(3)
    expected = np.random.random(), random.random()
    np.random.seed(3)
    random.seed(3)
    sweep(deep, GRID)
    assert (np.random.random(), random.random()) == expected


def test_a_point_that_fails_has_the_error_in_its_row_and_raises_it_when_it_is_opened():
    def make(width):
        if width == 0:
            raise ValueError("no width\nat all")
        return 7 if width == 1 else fed(width)

    table = sweep(make, {"width": [0, 1, 2]})
    assert table[0].error == "ValueError: no width"
    assert table[1].error == "There is no net to debug in 7."
    assert (table[0].loss, table[0].gradients) == (None, {})
    assert (table[2].error, table[2].loss) == ("", 3.0)
    assert "3 points, from seed 0; 2 failed, .done has the others" in str(table)
    assert min(table.done, key=lambda row: row.norm) is table[2]
    assert "ValueError: no width" in table._repr_html_()
    with pytest.raises(ValueError, match="no width"):
        table.open(0)


def test_a_point_that_ends_its_program_has_that_in_its_row():
    def make(width):
        return sys.exit("no such width") if width == 2 else fed(width)

    assert [row.error for row in sweep(make, {"width": [1, 2]})] == ["", "SystemExit: no such width"]


def test_a_point_whose_process_dies_costs_that_row_alone():
    with ProcessPoolExecutor(2) as executor, pytest.warns(RuntimeWarning, match="has died"):
        table = sweep(dies, {"depth": [1, 2, 3]}, executor=executor)
    assert "failed: BrokenProcessPool" in table[1].error
    assert [row.error for row in (table[0], table[2])] == ["", ""]


def test_an_interrupt_ends_the_sweep_and_not_the_point_alone(own_types, ctrl_c):
    asked = []

    def interrupt(op, x):
        asked.append(x)
        signal.raise_signal(signal.SIGINT)
        return x

    register_kernel("OwnInterrupt")(interrupt)
    register_gradient("OwnInterrupt")(lambda op, g_output: (None, g_output))

    def make(width):
        net, workspace = Net("interrupted"), Workspace()
        net.add("OwnInterrupt", "x", "y")
        workspace.feed("x", np.ones(width))
        return net, ["y"], workspace

    with pytest.raises(KeyboardInterrupt):
        sweep(make, {"width": [1, 2, 3]})
    assert len(asked) == 1


def test_what_is_not_finite_is_a_number_like_others():
    with np.errstate(all="ignore"):
        table = sweep(fed, {"width": [2], "divisor": [0.0]})
    assert (table[0].loss, table[0].norms["x"]) == (np.inf, np.inf)
    assert "inf" in str(table)
    assert table.to_dict()["rows"][0]["loss"] == "inf"


def test_a_norm_that_is_nan_is_the_greatest_and_leaves_the_others_in_their_order():
    def make(slope):
        x = {name: Variable(np.ones(1), name=name) for name in "abcd"}
        return F.sum(x["a"] * 5.0 + x["b"] * slope + x["c"] + x["d"] * 3.0)

    table = sweep(make, {"slope": [np.nan, np.inf]})
    assert [*table[0].norms] == [*table[1].norms] == ["c", "d", "a", "b"]
    assert re.search(r"c: 1 +b: nan", str(table))


def test_the_loss_of_complex_numbers_is_complex():
    def make(scale):
        net, workspace = Net("complex"), Workspace()
        net.Scale("x", "y", scale=scale)
        workspace.feed("x", np.array([1 + 2j, 3.0]))
        return net, ["y"], workspace

    table = sweep(make, {"scale": [2.0]})
    assert table[0].loss == 8 + 4j
    assert "loss 8+4j" in repr(table[0])
    assert "8+4j" in str(table)
    assert table.to_dict()["rows"][0]["loss"] == [8.0, 4.0]


def test_a_point_takes_one_line_of_the_table_whatever_it_is():
    table = sweep(lambda on: fed(2), {"on": [np.ones((9, 9)), "two\nlines", "long" * 1000]})
    assert len(str(table).splitlines()) == 6
    assert max(map(len, str(table).splitlines())) < 200
    assert "two lines" in str(table)


@pytest.mark.parametrize("row", [1, -2, "first", None, 0.0])
def test_a_row_that_there_is_not_cannot_be_opened(row):
    with pytest.raises(GradvizError, match="the sweep has 1 row") as caught:
        sweep(fed, {"width": [2]}).open(row)
    assert caught.value.kind == "bad_row"


@pytest.mark.parametrize("seed", [None, -1, 2**32, 1.5, "a", True])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(GradvizError, match="is no seed") as caught:
        sweep(fed, {"width": [2]}, seed=seed)
    assert caught.value.kind == "bad_seed"


def test_numbers_of_numpy_are_seeds_and_rows():
    table = sweep(deep, GRID, seed=np.int64(7))
    assert alike(table, sweep(deep, GRID, seed=7))
    assert repr(table.open(np.int64(2))) == repr(table.open(2))


def test_a_table_shows_40_rows_and_is_data_whatever_a_point_holds():
    table = sweep(lambda scale, init: deep(1, scale), [{"scale": one / 50, "init": np.tanh} for one in range(45)])
    assert "and 5 more" in str(table)
    assert "<ufunc 'tanh'>" in str(table)
    assert table.to_dict()["rows"][3]["point"] == {"scale": 0.06, "init": "<ufunc 'tanh'>"}
    assert "<th scope" in table._repr_html_()


@pytest.mark.parametrize(
    ("make", "grid", "says"),
    [
        (deep, {}, "has no points"),
        (deep, [], "has no points"),
        (deep, {"depth": [], "scale": [1.0]}, "has no points"),
        (deep, {"depth": 3, "scale": [1.0]}, "not iterable"),
        (deep, {"depth": "12", "scale": [1.0]}, "the values of depth are a text"),
        (deep, {"depth": [3]}, "missing a required argument: 'scale'"),
        (deep, {"depth": [3], "scales": [1.0]}, "scale"),
        (deep, [3], "not iterable"),
        (deep, 3, "not iterable"),
        ("deep", {"depth": [3]}, "not a callable"),
    ],
)
def test_what_is_no_grid_is_refused(make, grid, says):
    with pytest.raises(GradvizError, match=says) as caught:
        sweep(make, grid)
    assert caught.value.kind == "bad_grid"
    assert "make_net" in str(caught.value)


def test_a_function_that_processes_cannot_be_sent_is_named():
    with ProcessPoolExecutor(1) as executor, pytest.raises(GradvizError, match="make_net cannot be sent") as caught:
        sweep(lambda depth: deep(depth, 1.0), {"depth": [1]}, executor=executor)
    assert caught.value.kind == "not_sendable"


def test_the_door_has_it():
    assert gradviz.sweep is sweep
