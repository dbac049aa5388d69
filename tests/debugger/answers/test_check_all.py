"""All gradients are checked at once, here or by an executor, with the same answer to the bit."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest

import gradviz.functions as F
from gradviz import GradvizError, Net, Operator, Variable, debug, load, register_gradient, register_kernel
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import diamond, recorded


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2) as executor:
        yield executor


def perceptron():
    """Two layers, of 420 and 21 weights, and labels, which have no gradient."""
    rng, net = np.random.default_rng(0), Net("perceptron")
    net.FC(["x", "w", "b"], "h")
    net.Tanh("h", "a")
    net.FC(["a", "v", "c"], "y")
    net.SoftmaxWithLoss(["y", "labels"], ["p", "loss"])
    shapes = {"x": (5, 20), "w": (21, 20), "b": (21,), "v": (3, 21), "c": (3,)}
    values = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    return recorded(net, **values, labels=np.array([0, 1, 2, 1, 0], np.int32))


def own_cube(kernel, factor=3.0):
    """loss = sum of x³ y, by an operator of the user's."""
    register_kernel("OwnCube")(kernel)
    register_kernel("OwnCubeGradient")(lambda op, x, dy: factor * x**2 * dy)

    @register_gradient("OwnCube")
    def rule(op, g_output):
        return Operator("OwnCubeGradient", [op.inputs[0], g_output[0]], ["x_grad"]), ["x_grad"]

    net = Net("cubes")
    net.add("OwnCube", "x", "cube")
    net.Mul(["cube", "y"], "product")
    net.SumElements("product", "loss")
    return recorded(net, x=np.linspace(-1, 1, 40), y=np.linspace(1, 2, 40))


def cubed(op, x):
    return x**3


def cubed_or_dead(parent, mark, op, x):
    """The first process but for this one that comes here dies, and leaves a file."""
    if os.getpid() != parent and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x**3


def test_all_that_a_net_is_given_and_that_has_a_gradient_is_checked():
    session = perceptron()
    view = session.check("all")
    assert view.verdict == "agrees", view
    assert view.subject == "The gradient of all 5 leaves"
    assert {one.blob: (one.checked, one.size) for one in view.checks} == {
        "x@0": (64, 100), "w@0": (64, 420), "b@0": (21, 21), "v@0": (63, 63), "c@0": (3, 3),
    }  # fmt: skip
    alone = [session.check(one.blob) for one in view.checks]
    assert view.checks == [check for one in alone for check in one.checks]
    assert all(view.subject in "\n".join(session.check("all").notes) for view in alone[:2])


def test_samples_are_drawn_from_all_and_from_each(processes):
    session = perceptron()
    view = session.check("all", samples=300, executor=processes)
    checked = {one.blob: one.checked for one in view.checks}
    assert checked == {"x@0": 60, "w@0": 207, "b@0": 21, "v@0": 60, "c@0": 3}
    assert view == session.check("all", samples=300)
    assert session.check("w", samples=10).checks[0].checked == 10
    assert session.check("w", samples=10_000).checks[0].checked == 420
    assert session.check("#0", samples=30).checks[1].checked == 23
    assert "looks at so many elements, drawn" in str(view)


def counted_cube(calls, op, x):
    """Leaves a byte for each time that it is called, in whatever process."""
    with calls.open("ab") as file:
        file.write(b".")
    return x**3


def test_an_executor_gives_the_same_answer_to_the_bit(processes):
    session = perceptron()
    with ThreadPoolExecutor(2) as threads:
        for question in ("all", "w", "#0"):
            here = session.check(question)
            assert session.check(question, executor=processes) == here
            assert session.check(question, executor=threads) == here


def test_an_executor_runs_the_program_as_often_as_one_process(own_types, tmp_path):
    calls, times = tmp_path / "calls", []
    session = own_cube(partial(counted_cube, calls))
    for executor in (None, ProcessPoolExecutor(1)):
        calls.write_bytes(b"")
        session.check("all", executor=executor)
        times.append(len(calls.read_bytes()))
    executor.shutdown()
    assert times[0] == times[1] > 2 * 40  # two differences of each element


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_all_gradients_of_code_are_checked(schedule, processes):
    x = Variable(np.linspace(-1, 1, 6).reshape(2, 3), name="x")
    w = Variable(np.linspace(0, 1, 12).reshape(3, 4), name="w")
    session = debug(F.sum(F.tanh(F.matmul(x, w)) ** 2), schedule=schedule)
    view = session.check("all", executor=processes)
    assert (view.verdict, [one.blob for one in view.checks]) == ("agrees", ["x@0", "w@0"])
    assert view == session.check("all")


def test_one_wrong_gradient_among_all_is_found(own_types, processes):
    session = own_cube(cubed, factor=2.0)
    view = session.check("all", executor=processes)
    assert view.verdict == "differs"
    assert [one.verdict for one in view.checks] == ["differs", "agrees"]


def test_a_kernel_in_a_module_goes_along_to_a_process_that_knows_none(own_types):
    session = own_cube(cubed)
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        assert session.check("all", executor=fresh) == session.check("all")


def test_a_kernel_that_no_process_can_be_sent_is_named_and_threads_take_it(own_types, processes):
    session = own_cube(lambda op, x: x**3)
    with pytest.raises(GradvizError, match="The kernel of OwnCube cannot be sent to another process") as caught:
        session.check("all", executor=processes)
    assert caught.value.kind == "not_sendable"
    with ThreadPoolExecutor(2) as threads:
        assert session.check("all", executor=threads) == session.check("all")


def test_a_process_that_dies_changes_nothing(own_types, tmp_path):
    session = own_cube(partial(cubed_or_dead, os.getpid(), tmp_path / "dead"))
    here = session.check("all")
    with ProcessPoolExecutor(2) as executor, pytest.warns(RuntimeWarning, match="has died"):
        assert session.check("all", executor=executor) == here
    assert (tmp_path / "dead").exists()


def test_a_worker_of_dask_that_dies_changes_nothing(own_types, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: no cluster of it is asked")
    session = own_cube(partial(cubed_or_dead, os.getpid(), tmp_path / "dead"))
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        for executor in (client.get_executor(), client):
            assert session.check("all", executor=executor) == session.check("all")
    assert (tmp_path / "dead").exists()


def test_what_is_no_number_of_samples_or_no_executor_is_refused_and_the_session_goes_on():
    session = diamond()
    for samples in (0, 1.5, "many", True):
        with pytest.raises(CursorError, match="samples="):
            session.check("all", samples=samples)
    with pytest.raises(GradvizError, match="no executor") as caught:
        session.check("all", executor="two cores")
    assert caught.value.kind == "bad_executor"
    view = session.check("all")
    assert (view.verdict, view.subject) == ("agrees", "The gradient of the only leaf")


def test_of_a_recording_without_values_nothing_can_be_checked(tmp_path):
    diamond().save(tmp_path / "diamond.gradviz.json")
    with pytest.raises(CursorError) as caught:
        load(tmp_path / "diamond.gradviz.json").check("all")
    assert caught.value.kind == "not_computed"


def test_what_was_not_computed_is_told_beside_what_was(own_types):
    register_kernel("OwnFailing")(lambda op, dy: 1 / 0)
    register_gradient("OwnLast")(lambda op, g: (Operator("OwnFailing", [g[0]], ["x_grad"]), ["x_grad"]))
    register_kernel("OwnLast")(lambda op, x: 2 * x)
    net = Net("stops")
    net.add("OwnLast", "x", "a")
    net.Mul(["a", "y"], "b")
    view = recorded(net, ["b"], x=[1.0, 2.0], y=[3.0, 4.0]).check("all")
    assert [one.blob for one in view.checks] == ["y@0"]
    assert (view.verdict, len(view.notes)) == ("agrees", 1)
    assert view.subject == "The gradient of 1 of 2 leaves"
    assert view.notes[0].startswith("The gradient of x@0: There is no value of x_grad@0: it stopped before")


def test_a_kink_is_said_of_those_leaves_that_lie_on_one():
    net = Net("half on a kink")
    net.Relu("x", "a")
    net.Tanh("y", "b")
    net.Sum(["a", "b"], "s")
    view = recorded(net, ["s"], x=[0.0, 1.0], y=[0.5, 1.0]).check("all")
    assert [one.verdict for one in view.checks] == ["kink", "agrees"]
    assert str(view).startswith("The gradient of 1 of 2 leaves lies on a kink")


def test_where_nothing_has_a_gradient_that_is_said():
    net = Net("without")
    net.StopGradient("x", "stopped")
    net.Tanh("stopped", "y")
    view = recorded(net, ["y"], x=[1.0]).check("all")
    assert view.verdict == "not checkable"
    assert "has a gradient" in view.notes[0]
