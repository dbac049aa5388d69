"""Questions about a backward pass of Variables get the same kinds of answers."""

import numpy as np
import pytest

import gradviz
from gradviz import Variable, functions


class Triple(gradviz.Function):
    """A function of a user's own."""

    def forward(self, xs):
        return 3 * xs[0]

    def backward(self, xs, gys):
        return 3 * gys[0]


@pytest.fixture(params=["rank", "tape"])
def session(request):
    """y = sum of tanh(x w) x + tanh(x w), and 3 k beside, with k that wants no gradient."""
    x, w = Variable(np.array([1.0, 2.0]), name="x"), Variable(np.array([3.0, -1.0]), name="w")
    k = Variable(np.array([1.0, 1.0]), name="k", requires_grad=False)
    h = functions.tanh(x * w)
    y = functions.sum(h * x + h + k)
    session = gradviz.debug(y, schedule=request.param)
    session.finish()
    return session


def test_the_parts_of_all_paths_add_up(session):
    view = session.paths("x")
    assert (view.count, len(view.paths), view.difference) == (3, 3, pytest.approx(0, abs=1e-12))
    np.testing.assert_allclose(sum(view.parts), session.value("x_grad@1"))


def test_gradients_are_checked(session):
    assert session.check("x").verdict == session.check("w").verdict == "agrees"
    assert session.check("#0").verdict == "agrees"


def test_a_variable_that_wants_no_gradient_has_none_and_says_so():
    x, k = Variable(np.array([1.0, 2.0]), name="x"), Variable(np.array([1.0, 1.0]), name="k", requires_grad=False)
    session = gradviz.debug(functions.sum(x * k))
    session.finish()
    view = session.why_none("k")
    assert view.status == "none"
    assert [cut.text for cut in view.cuts] == [
        "k@0: Mul #0 was not asked for its gradient: requires_grad is False, or inputs= leaves it out."
    ]
    assert session.why_none("x").status == "has one"


def test_versions_states_and_differences_are_there(session):
    (version,) = session.versions("x").versions
    assert version.readers == ["Mul #0", "Mul #2"]
    assert version.gradients[-1] == "x_grad@1"
    state = session.state()
    assert state.gradients["x"] == "x_grad"
    assert state.schedule is not None
    assert state.to_dict()["schedule"]
    assert len(session.diff(0, len(session)).played) == len(state.ssa)


def test_a_nan_is_followed_to_the_function_that_made_it():
    x = Variable(np.array([-1.0, 1.0]), name="x")
    with np.errstate(invalid="ignore"):
        y = functions.sum(functions.log(x) * x)
    session = gradviz.debug(y)
    view = session.provenance("x_grad")
    assert (view.what, view.born.side) == ("nan", "forward")
    assert "Log" in view.born.by


def test_a_function_of_ones_own_cannot_be_run_again():
    x = Variable(np.array([1.0, 2.0]), name="x")
    session = gradviz.debug(functions.sum(Triple()(x)))
    view = session.check("#0")
    assert view.verdict == "not checkable"
    assert session.check("x").verdict == "not checkable"
    assert session.versions("x").versions[0].readers == ["Triple #0"]
    assert session.paths("x").reason == "The backward of Triple #0 cannot be run again here"


class First(gradviz.Function):
    """Two outputs; its backward gives nothing of what the second one is made of."""

    def forward(self, xs):
        return xs[0] * 2, xs[1] * 3

    def backward(self, xs, gys):
        return gys[0] * 2, None


def test_what_a_function_gave_no_gradient_for_is_not_computed_though_the_tape_has_made_room_for_it(tmp_path):
    x, z = (Variable(np.ones(2), name=name) for name in "xz")
    first, _ = First()(x, functions.tanh(z))
    session = gradviz.debug(functions.sum(first), schedule="tape")
    session.finish()
    assert "Its value was not computed: nobody wants it, or a function gave no gradient" in str(session.why_none("z"))
    assert "not computed" not in str(session.why_none("x"))
    session.save(tmp_path / "tape.gradviz.json")
    assert "Its value was not computed." in str(gradviz.load(tmp_path / "tape.gradviz.json").why_none("z"))


class Broken(gradviz.Function):
    """Its backward does not work."""

    def forward(self, xs):
        return xs[0] * 2

    def backward(self, xs, gys):
        raise ValueError("not today")


def test_of_a_pass_that_stopped_what_has_come_is_not_taken_for_the_whole_gradient():
    x = Variable(np.array([1.0, 2.0]), name="x")
    h = functions.tanh(x)
    session = gradviz.debug(functions.sum(h * 3) + functions.sum(Broken()(h)))
    session.finish()
    assert str(session.ledger("h")).startswith("Gradient of h@0 so far = sum of 1 contribution")
    assert session.check("h").verdict == "not checkable"
    assert not session.paths("h").is_whole
    assert "may have other parts" in str(session.paths("h"))
