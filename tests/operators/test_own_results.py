"""What kernels of users return stays what it was, and is numbers."""

from typing import Any

import numpy as np
import pytest

import gradviz
from gradviz import Net, Operator, RunError, Variable, Workspace
from gradviz.operators.registry import with_own_results

ROOM = np.zeros(4)


@pytest.fixture(autouse=True)
def kernels() -> None:
    def fill(op: Operator, x: Any) -> Any:
        ROOM[:] = x + 1
        return ROOM[:]

    gradviz.register_kernel("FillsOneArray")(fill)
    gradviz.register_kernel("MakesObjects")(lambda op, x: np.array([op] * 4))


def two(type: str) -> tuple[Net, Workspace]:
    net, ws = Net("two"), Workspace()
    ws.feed("x", np.arange(4.0))
    net.add(type, ["x"], "y")
    net.add(type, ["y"], "z")
    return net, ws


def test_a_kernel_that_fills_one_array_at_every_call_changes_nothing_that_it_returned() -> None:
    net, ws = two("FillsOneArray")
    ws.run(net)
    np.testing.assert_array_equal(ws["y"], np.arange(1.0, 5))
    np.testing.assert_array_equal(ws["z"], np.arange(2.0, 6))
    assert ROOM.flags.writeable


def test_a_kernel_that_returns_one_array_twice_is_told_to_return_new_ones() -> None:
    room = np.zeros(4)

    def fill(op: Operator, x: Any) -> Any:
        np.add(x, 1, out=room)
        return room

    gradviz.register_kernel("ReturnsOneArray")(fill)
    net, ws = two("ReturnsOneArray")
    with pytest.raises(RunError, match="read-only") as caught:
        ws.run(net)
    assert (caught.value.kind, caught.value.operator_index) == ("kernel_failed", 1)
    assert "one new array" in caught.value.explain()


def test_views_of_what_is_read_are_not_copied_and_views_of_what_was_made_keep_their_order_in_memory() -> None:
    x = np.arange(6.0).reshape(2, 3).copy()
    x.flags.writeable = False
    assert np.shares_memory(with_own_results(lambda op, x: x[:, ::-1])(None, x), x)
    made = with_own_results(lambda op, x: ((x * 2).T, x.sum()))(None, x)
    assert made[0].flags.f_contiguous
    assert made[0].base is None
    assert made[1] == 15


@pytest.mark.parametrize("dtype", ["object", "<U3", "M8[s]", [("a", "f8")]])
def test_what_is_no_number_is_refused_with_the_operator_and_the_way_out(dtype: Any) -> None:
    gradviz.register_kernel("MakesOther")(lambda op, x: np.zeros(4, dtype))
    net, ws = two("MakesOther")
    with pytest.raises(RunError, match="dtype") as caught:
        ws.run(net)
    assert (caught.value.kind, caught.value.operator_index) == ("kernel_failed", 0)
    assert "Return numbers" in caught.value.explain()
    gradviz.register_gradient("MakesOther")(lambda op, g: (None, [g[0]]))
    session = gradviz.debug(net, ["z"], workspace=ws, budget=0)
    assert session.finish().kind == "Failed"
    assert session.trace().values["x@0"].max == 3


def test_a_function_of_ones_own_that_returns_no_numbers_is_refused() -> None:
    class Words(gradviz.Function):
        def forward(self, xs: Any) -> Any:
            return np.array(["a"])

    with pytest.raises(RunError, match="<U1"):
        Words()(Variable([1.0]))
