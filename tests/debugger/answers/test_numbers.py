"""Pages of the numbers of a blob: which part is there, and what is no number."""

import numpy as np
import pytest

import gradviz
from gradviz.debugger.steering import CursorError
from tests.debugger import loops
from tests.debugger.answers.nets import recorded


def asked(array: np.ndarray, row: int = 0, column: int = 0) -> gradviz.debugger.answers.NumbersView:
    net = gradviz.Net("n")
    net.Copy("x", "y")
    return recorded(net, ["y"], x=array).numbers("x@0", row, column)


def test_a_page_begins_where_it_was_asked_to_and_ends_with_the_array() -> None:
    array = np.arange(40 * 20, dtype=np.float32).reshape(40, 20)
    first, last = asked(array), asked(array, 24, 16)
    assert np.array_equal(first.numbers, array[:24, :16])
    assert np.array_equal(last.numbers, array[24:, 16:])
    assert (last.rows, last.columns, last.row, last.column) == (40, 20, 24, 16)
    assert "x@0, 40 rows of 20" in str(last)
    assert str(last).splitlines()[1].split() == ["16", "17", "18", "19"]


def test_more_axes_are_rows_of_the_last_one_and_a_scalar_is_one_number() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(asked(array).numbers, array.reshape(6, 4))
    assert asked(np.array(2.5)).numbers == [[2.5]]
    assert "x@0, 1 row of 1" in str(asked(np.array(2.5)))
    assert asked(np.zeros((0, 3))).numbers == []


def test_what_json_has_no_number_for_is_a_word() -> None:
    assert asked(np.array([np.nan, np.inf, -np.inf, 1.0])).numbers == [["nan", "inf", "-inf", 1.0]]


def test_of_a_name_the_last_version_is_meant() -> None:
    net = gradviz.Net("n")
    net.Scale("x", "y", scale=2.0)
    net.Scale("y", "y", scale=2.0)
    assert recorded(net, ["y"], x=[1.0]).numbers("y").numbers == [[4.0]]


def test_a_blob_of_an_iteration_is_asked_for_by_its_path() -> None:
    session = gradviz.debug(loops.gated(), ["loss"], workspace=loops.fed(rounds=2))
    run = next(net for net in session.trace().subnets if net.path[-1].endswith("loop_net"))
    blob = run.blobs[0]
    path = f"{run.path[0]}[1]"
    assert np.allclose(np.ravel(session.numbers(f"{path}:{blob}").numbers), np.ravel(session.value(f"{path}:{blob}")))


@pytest.mark.parametrize(("row", "column", "name"), [(3, 0, "row"), (0, 2, "column"), (-1, 0, "row"), (0.0, 0, "row")])
def test_a_page_that_is_not_there_is_refused(row: int, column: int, name: str) -> None:
    with pytest.raises(CursorError, match=f"{name}=") as raised:
        asked(np.ones((3, 2)), row, column)
    assert raised.value.kind == "bad_argument"


def test_without_arrays_it_says_why() -> None:
    session = recorded(
        gradviz.Net.from_dict({"name": "n", "ops": [{"type": "Copy", "inputs": ["x"], "outputs": ["y"]}]}),
        ["y"],
        x=[1.0],
    )
    with pytest.raises(CursorError, match="keeps statistics, no arrays"):
        gradviz.Session(session.trace()).numbers("x@0")
