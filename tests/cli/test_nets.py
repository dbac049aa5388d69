"""`gradviz run` and `gradviz grad`: what a net is fed, what is printed and written, what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradviz
from tests.built_nets import chosen, power
from tests.cli.conftest import Command

LOOP = ["--feed", "x=2.0", "--feed", "w=3.0", "--feed", "i=0", "--feed", "n=4", "--feed", "one=1"]


def blobs(text: str) -> dict[str, object]:
    return {name: one["values"] for name, one in json.loads(text)["blobs"].items()}


def test_run_prints_the_outputs(net: Path, command: Command) -> None:
    done = command("run", "net.json", "--feed", "x.npz")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == f"y: 2 × 3 float64, norm {2 * np.tanh(1) * np.sqrt(6):.3g}"


@pytest.mark.parametrize("form", ["x.npz", "x.json", "x=x.npy", "x=[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]"])
def test_each_form_of_feed_gives_the_same(form: str, net: Path, command: Command) -> None:
    Path("x.json").write_text(json.dumps({"x": np.ones((2, 3)).tolist()}))
    np.save("x.npy", np.ones((2, 3)))
    done = command("run", "net.json", "--feed", form, "--json")
    assert blobs(done.out) == {"y": (2 * np.tanh(np.ones((2, 3)))).tolist()}


def test_a_later_feed_counts(net: Path, command: Command) -> None:
    done = command("run", "net.json", "--feed", "x.npz", "--feed", "x=0.0", "--fetch", "a", "--json")
    assert blobs(done.out) == {"a": 0.0}


def test_a_list_may_be_longer_than_the_name_of_a_file(net: Path, command: Command) -> None:
    numbers = np.linspace(0, 1, 500).tolist()
    done = command("run", "net.json", "--feed", f"x={numbers}", "--json")
    assert blobs(done.out) == {"y": (2 * np.tanh(numbers)).tolist()}
    assert "behind the name stands no number" in command("run", "net.json", "--feed", f"x={numbers}]").err


def test_run_writes_all_blobs_as_numpy_reads_them(tmp_path: Path, command: Command) -> None:
    odd = gradviz.Net("odd")
    odd.Tanh("file", "../a.npy")
    odd.save("odd.json")
    done = command("run", "odd.json", "--feed", "file=1.5", "-o", "out.npz")
    assert done.out.splitlines()[-1] == "out.npz: 1 KB"
    with np.load("out.npz") as written:
        assert {name: float(written[name]) for name in written} == {"file": 1.5, "../a.npy": np.tanh(1.5)}
    assert [path.name for path in tmp_path.parent.glob("*.npy")] == []
    assert command("run", "odd.json", "--feed", "out.npz").status == 0


def test_blobs_that_are_called_as_entries_of_a_file_are_told_apart(command: Command) -> None:
    alike = gradviz.Net("alike")
    alike.Sub(["x", "x.npy"], "y")
    alike.save("alike.json")
    assert command("run", "alike.json", "--feed", "x=3.0", "--feed", "x.npy=1.0", "-o", "out.npz").status == 0
    assert blobs(command("run", "alike.json", "--feed", "out.npz", "--json").out) == {"y": 2.0}


def test_an_output_of_a_branch_that_was_not_taken_is_not_computed(command: Command) -> None:
    net = gradviz.Net()
    with net.If("go"):
        net.Tanh("x", "h")
    net.ops[-1].outputs.append("late")  # of the branch alone
    net.ops[-1].args["then_net"].ops.append(gradviz.Operator("Sin", ["x"], ["late"]))
    net.Cos("x", "y")
    net.save("branch.json")
    for go, computed in (("true", True), ("false", False)):
        fed = ("--feed", "x=0.0", "--feed", f"go={go}")
        done = command("run", "branch.json", *fed, "--json")
        assert done.status == 0
        assert ("late" in blobs(done.out)) is computed
        assert json.loads(done.out)["unwritten"] == ([] if computed else ["late"])
        said = "late: not computed, since the branch that writes it was not taken"
        assert (said in command("run", "branch.json", *fed).out) is not computed
    assert command("run", "branch.json", *fed, "--fetch", "late").status == 2


def test_one_more_blob_that_is_not_there_is_named_as_one(command: Command) -> None:
    net = gradviz.Net()
    net.Add(["x", "w"], "y")
    net.save("add.json")
    assert "Nor is w there, which is read as well." in command("run", "add.json").err


def test_json_stays_valid_where_there_is_no_number(command: Command) -> None:
    net = gradviz.Net()
    net.Log("x", "y")
    net.save("log.json")
    done = command("run", "log.json", "--feed", "x=[0.0, -1.0, 1.0]", "--json")
    assert blobs(done.out) == {"y": ["-inf", "nan", 0.0]}
    Path("back.json").write_text(json.dumps({"x": blobs(done.out)["y"]}))
    assert blobs(command("run", "log.json", "--feed", "back.json", "--json").out)["y"][1] == "nan"
    norms = json.loads(command("grad", "log.json", "--feed", "x=[0.0, 1.0]", "--json").out)["gradients"]
    assert norms["x"] == {"gradient": "x_grad", "shape": [2], "dtype": "float64", "norm": "inf"}


def test_a_complex_number_is_two_in_json(command: Command) -> None:
    net = gradviz.Net()
    net.Mul(["z", "z"], "y")
    net.save("square.json")
    np.savez("z.npz", z=np.array([1 + 2j]))
    assert blobs(command("run", "square.json", "--feed", "z.npz", "--json").out) == {"y": [[-3.0, 4.0]]}


def test_a_net_runs_on_the_device_that_is_asked_for(net: Path, command: Command, cupy: Any) -> None:
    fed = ["net.json", "--feed", "x.npz", "--device", "cuda:0"]
    done = command("run", *fed, "-o", "out.npz", "--json")
    assert json.loads(done.out)["blobs"]["y"]["device"] == "cuda:0"
    with np.load("out.npz") as written:
        np.testing.assert_allclose(written["y"], 2 * np.tanh(np.ones((2, 3))))
    assert command("run", *fed).out.startswith("y: 2 × 3 float64, norm ")
    assert json.loads(command("grad", *fed, "--json").out)["gradients"]["x"]["norm"] == pytest.approx(2.0574, rel=1e-4)


def test_a_branch_and_a_loop_leave_no_stacks_of_workspaces(command: Command) -> None:
    chosen().save("chosen.json")
    power().save("power.json")
    fed = ["--feed", "c=true", "--feed", "x=[0.3]", "--feed", "w=[1.2]"]
    assert list(blobs(command("run", "chosen.json", *fed, "--json").out)) == ["y"]
    assert blobs(command("run", "power.json", *LOOP, "-o", "out.npz", "--json").out)["x"] == 162.0
    with np.load("out.npz") as written:
        assert {*written} >= {"x", "w", "i", "n"}
        assert all(written[name].dtype.kind in "bif" for name in written)


def test_grad_tells_operators_and_gradients_and_saves_the_recording(net: Path, command: Command) -> None:
    done = command("grad", "net.json", "--feed", "x.npz", "-o", "made.gradviz.json")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "lesson, differentiated from y: 3 gradient operators"
    assert lines[3] == "  - x_grad@0 = TanhGradient(a@0, a_grad@0)"
    slope = 2 * (1 - np.tanh(1) ** 2) * np.sqrt(6)
    assert lines[-2].split() == ["x", "x_grad", "2", "×", "3", "float64", f"{slope:.4g}"]
    assert gradviz.load("made.gradviz.json").name == "lesson"
    assert command("grad", "net.json", "--ys", "y", "--ys", "y", "--feed", "x.npz").out.splitlines()[0] == lines[0]


def test_grad_of_a_net_that_is_not_fed_is_generated(net: Path, command: Command) -> None:
    done = command("grad", "net.json", "--json")
    assert json.loads(done.out)["gradients"]["x"] == {"gradient": "x_grad", "shape": None, "dtype": None, "norm": None}
    assert "not computed" in command("grad", "net.json").out


def test_grad_of_a_net_that_needs_nothing_is_run(command: Command) -> None:
    net = gradviz.Net()
    net.ConstantFill([], "c", shape=[2], value=3.0)
    net.Sqr("c", "y")
    net.save("fill.json")
    assert json.loads(command("grad", "fill.json", "--json").out)["gradients"]["c"]["norm"] == pytest.approx(72**0.5)


def test_what_is_only_printed_is_an_output(command: Command) -> None:
    net = gradviz.Net()
    net.Tanh("x", "y")
    net.Print("y", [])
    net.save("net.json")
    assert list(blobs(command("run", "net.json", "--feed", "x=1.0", "--json").out)) == ["y"]


def test_the_norm_of_a_sparse_gradient_is_that_of_all_rows(command: Command) -> None:
    net = gradviz.Net()
    net.Gather(["table", "rows"], "y")
    net.save("net.json")
    np.savez("in.npz", table=np.ones((5, 2)), rows=np.array([1, 1, 3]))
    found = json.loads(command("grad", "net.json", "--feed", "in.npz", "--json").out)["gradients"]["table"]
    assert found["gradient"] == {"indices": "rows", "values": "y_autogen_grad"}
    assert found["norm"] == pytest.approx(10**0.5)


def test_a_pass_that_stops_is_saved_up_to_there(command: Command) -> None:
    net = gradviz.Net()
    net.Sigmoid("x", "u")
    net.Scale("u", "u", scale=2.0)
    net.save("over.json")
    done = command("grad", "over.json", "-o", "over.gradviz.json")
    assert (done.status, done.out) == (2, "")
    assert "needs u@0" in done.err
    assert "gradviz html over.gradviz.json" in done.err
    assert command("ask", "over.gradviz.json", "versions", "u").out.startswith("u has 2 versions")


def test_several_ys_stand_behind_one_option_and_a_net_without_a_name_is_called_as_its_file(command: Command) -> None:
    ops = [{"type": one, "inputs": ["x"], "outputs": [one]} for one in ("Tanh", "Sin")]
    Path("both.json").write_text(json.dumps({"ops": ops}))
    told = command("grad", "both.json", "--ys", "Tanh,Sin").out
    assert told == command("grad", "both.json", "--ys", "Tanh", "--ys", "Sin").out
    assert told.startswith("both, differentiated from Tanh and Sin: 5 gradient operators")


def test_the_name_of_a_file_in_another_encoding_becomes_that_of_the_net(command: Command) -> None:
    net = gradviz.Net("")
    net.Tanh("x", "y")
    file = os.fsdecode(b"caf\xe9.json")
    net.save(file)
    done = command("grad", file, "--feed", "x=1.0", "-o", "made.gradviz.json")
    assert (done.status, done.out.splitlines()[0]) == (0, "caf?, differentiated from y: 2 gradient operators")
    assert gradviz.load("made.gradviz.json").name == "caf?"


def test_what_is_not_fed_or_mistyped_is_said_with_the_way_out(net: Path, command: Command) -> None:
    for what in (["run", "net.json"], ["grad", "net.json", "--device", "cpu"]):
        done = command(*what)
        assert (done.status, done.out) == (2, "")
        assert "Operator #0 a = Tanh(x) reads x, which nobody fed" in done.err
        assert "--feed x=FILE.npy" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "net.json", "--feed", "xx=1.0"], "Did you mean x?"),
        (["run", "net.json", "--feed", "x.npz", "--fetch", "aa"], "Did you mean a?"),
        (["grad", "net.json", "--ys", "yy"], "Did you mean y?"),
        (["grad", "net.json", "--ys", "y,loss"], "The net has no blob loss to differentiate.\n  - It has a, x and y."),
        (["run", "net.json", "--feed", "loss=1.0"], "no operator of lesson reads loss.\n  - It reads x."),
        (["run", "net.json", "--feed", "x=1"], "On the command line: x=1 is an integer, x=1.0 is none."),
        (["run", "net.json", "--feed", "x.npz", "--fetch", ""], "The workspace has no blob ''."),
        (["grad", "net.json", "--ys", ""], "The net has no blob '' to differentiate."),
        (["run", "net.json", "--feed", "=1"], "--feed =1: no name stands before the =."),
        (["run", "net.json", "--feed", "x="], "behind the name stands no number"),
        (["run", "net.json", "--feed", "x=none.npy"], "behind the name stands no number"),
        (["run", "net.json", "--feed", 'x="one"'], "its dtype is <U3"),
        (["run", "net.json", "--feed", "x=[1, [2]]"], "no array on cpu can be made of it"),
        (["run", "net.json", "--feed", "none.npz"], "none.npz does not exist"),
        (["run", "net.json", "--feed", "."], ". is no file"),
        (["run", "net.json", "--feed", "one.npy"], "one array, without a name"),
        (["run", "net.json", "--feed", "x=x.npz"], "arrays with names of their own"),
        (["run", "net.json", "--feed", "words.csv"], "no file of numpy.save"),
        (["run", "net.json", "--feed", "damaged.npz"], "no file of numpy.save"),
        (["run", "net.json", "--feed", "list.json"], "no names of blobs"),
        (["run", "net.json", "--feed", "cut.npz"], "cut.npz: numpy cannot read its arrays"),
        (["run", "net.json", "--feed", "x=huge.npy"], "MemoryError"),
        (["run", "net.json", "--feed", "x=pickled.npy"], "allow_pickle=False"),
        (["run", "net.json", "--device", "gpu"], "'gpu' is not a device"),
        (["run", "net.json", "--feed", "x.npz", "-o", "x.npz"], "x.npz is x.npz itself"),
        (["run", "net.json", "-o", "net.json"], "net.json is net.json itself"),
        (["run", "net.json", "--feed", "x.npz", "-o", "none/out.npz"], "There is no folder"),
        (["grad", "two.json"], "ends in a and b: what is to be differentiated?"),
        (["grad", "empty.json"], "empty has no outputs"),
        (["run", "lesson.gradviz.json"], "is a recording, and a net is asked for"),
        (["run", "list.json"], "list.json: This is not a net"),
        (["run", "cut.npz"], "cut.npz: This is not a whole JSON text"),
        (["run", "none.json"], "none.json does not exist"),
        (["run", "."], ". is no file"),
        (["run"], "required: NET"),
    ],
)
def test_a_refusal_says_what_where_and_changes_nothing(
    arguments: list[str], words: str, net: Path, recording: Path, command: Command
) -> None:
    np.save("one.npy", np.ones(3))
    np.save("pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    one = Path("one.npy").read_bytes()
    Path("huge.npy").write_bytes(one.replace(b"'shape': (3,), }", b"'shape': (999999999999999,), }", 1))
    Path("cut.npz").write_bytes(Path("x.npz").read_bytes()[:100])
    Path("words.csv").write_text("1, 2")
    Path("damaged.npz").write_bytes(b"PK, and no more")
    Path("list.json").write_text("[1]")
    gradviz.Net("empty").save("empty.json")
    two = gradviz.Net("two")
    two.Tanh("x", "a")
    two.Tanh("x", "b")
    two.save("two.json")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    done = command(*arguments)
    assert done.status == 2
    assert done.out == ""
    assert words in done.err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
