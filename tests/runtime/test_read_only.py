"""What people are given of a workspace, a recording or a Variable is read-only, and they cannot make it writeable."""

import pickle

import numpy as np
import pytest

import gradviz
from gradviz import FunctionHook, Net, Variable, Workspace, functions

X = np.arange(6.0).reshape(2, 3)


def assert_stays_read_only(array):
    views = (array, np.asarray(array), array[...], array.view(), array.T)
    assert type(array) is np.ndarray
    for one in views:
        assert not one.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            one.flags.writeable = True
        with pytest.raises(ValueError, match="WRITEABLE"):
            one.setflags(write=True)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)


def net():
    made = Net()
    made.Reshape("x", ["flat", "old"], shape=[3, 2])
    made.Transpose("x", "turned")
    made.Tanh("turned", "y")
    made.SumElements("y", "total")
    made.Split("x", ["a", "b"], axis=1, split=[1, 2])
    made.Copy("x", "same")
    return made


def fed():
    ws = Workspace()
    ws.feed("x", X)
    return ws


@pytest.mark.parametrize("device", ["cpu", None])
def test_what_is_fetched(device):
    ws = fed()
    ws.run(net())
    for name in ws:
        assert_stays_read_only(ws.fetch(name, device))


@pytest.mark.parametrize("options", [{}, {"budget": 0}], ids=["in memory", "in a file"])
def test_the_values_of_a_recording(options):
    session = gradviz.debug(net(), ["total"], workspace=fed(), **options)
    session.finish()
    for name in ("x", "flat", "turned", "y", "total", "a", "same", "x_grad"):
        assert_stays_read_only(session.value(name))


def test_the_data_of_variables():
    x = Variable(X)
    parts = functions.split_axis(x, [1], axis=1)
    for y in (x, functions.tanh(x), x.T, functions.sum(x), x[1:], x.detach(), *parts):
        assert_stays_read_only(y.data)
        assert_stays_read_only(np.asarray(y))


def test_what_hooks_see_of_data():
    seen = []

    class Looks(FunctionHook):
        def forward_postprocess(self, function, in_data):
            seen.extend([*in_data, *function.out_data])

    with Looks():
        functions.tanh(Variable(X)) * 2
    assert len(seen) == 4
    for array in seen:
        assert_stays_read_only(array)


def test_an_array_that_was_read_only_when_a_variable_was_made_of_it_changes_nothing_there():
    array = X.copy()
    array.flags.writeable = False
    x = Variable(array)
    array.flags.writeable = True
    array[0, 0] = 9
    np.testing.assert_array_equal(x.data, X)


def test_data_that_cannot_change_is_shared_and_not_copied():
    ws = fed()
    x = Variable(ws["x"])
    y = Variable(x.data)
    assert np.shares_memory(y.data, ws["x"])
