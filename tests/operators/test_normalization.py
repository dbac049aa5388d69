"""Normalization, losses of pairs and steps of recurrent networks: values worked out by hand, and refusals."""

from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.program import GradientError, Operator, RunError
from gradviz.runtime import Workspace
from tests.operators.case import floats

Array = np.ndarray[Any, Any]
SAVED = ["y", "running_mean", "running_var", "saved_mean", "saved_inv_std"]


def run(type: str, inputs: list[Any], outputs: list[str], **args: Any) -> Workspace:
    """A workspace after one operator on x0, x1, ..."""
    workspace, names = Workspace(), [f"x{i}" for i in range(len(inputs))]
    for name, value in zip(names, inputs, strict=True):
        workspace.feed(name, value)
    workspace.run_operator(Operator(type, names, outputs, args))
    return workspace


def test_layer_norm_of_a_row() -> None:
    ran = run("LayerNorm", [[[1.0, 3.0], [2.0, 2.0]]], ["y", "mean", "std"], epsilon=0.0625)
    np.testing.assert_allclose(ran["mean"], [[2], [2]])
    np.testing.assert_allclose(ran["std"], np.sqrt([[1.0625], [0.0625]]))
    np.testing.assert_allclose(ran["y"], [[-1 / np.sqrt(1.0625), 1 / np.sqrt(1.0625)], [0, 0]])


def test_layer_norm_adds_what_arrives_at_each_output() -> None:
    net = Net("n")
    net.LayerNorm("x", ["y", "mean", "std"])
    net.add_gradient_operators({"y": "dy", "mean": "dmean", "std": "dstd"})
    types = [op.type for op in net.ops]
    assert types == ["LayerNorm", "LayerNormGradient", "LayerNormMeanGradient", "LayerNormStdGradient", "Sum"]


def test_scale_and_bias_have_one_shape() -> None:
    with pytest.raises(RunError, match=r"one shape; got float64 \(1, 3\) and float64 \(3,\)"):
        run("RMSNorm", [floats(2, 3), floats(1, 3), floats(3)], ["y", "inv_rms"])


def test_affine_layer_norm_needs_scale_and_bias() -> None:
    with pytest.raises(RunError, match="needs scale and bias"):
        run("LayerNorm", [floats(2, 3)], ["y", "mean", "std"], elementwise_affine=1)
    with pytest.raises(RunError, match="with 3 elements"):
        run("LayerNorm", [floats(2, 3), floats(2), floats(3)], ["y", "mean", "std"], elementwise_affine=1)


def test_normalize_of_zeros_is_zeros_with_a_finite_gradient() -> None:
    np.testing.assert_array_equal(run("Normalize", [np.zeros((1, 3))], ["y"])["y"], 0)
    assert np.isfinite(run("NormalizeGradient", [np.zeros((1, 3)), np.ones((1, 3))], ["dx"])["dx"]).all()


def test_batch_norm_moves_its_running_statistics() -> None:
    x = np.array([1.0, 3.0, 5.0, 7.0]).reshape(2, 1, 2)
    ran = run("SpatialBN", [x, [1.0], [0.0], [10.0], [2.0]], SAVED, momentum=0.75, epsilon=0.25)
    np.testing.assert_allclose(ran["saved_mean"], [4])
    np.testing.assert_allclose(ran["saved_inv_std"], [1 / np.sqrt(5.25)])
    np.testing.assert_allclose(ran["running_mean"], [0.75 * 10 + 0.25 * 4])
    np.testing.assert_allclose(ran["running_var"], [0.75 * 2 + 0.25 * 20 / 3])
    np.testing.assert_allclose(ran["y"].ravel(), (x.ravel() - 4) / np.sqrt(5.25))


def test_an_empty_batch_leaves_the_running_statistics_as_they_are() -> None:
    ran = run("SpatialBN", [np.zeros((0, 1, 2)), [1.0], [0.0], [10.0], [2.0]], SAVED, momentum=0.75)
    assert [float(ran[name][0]) for name in SAVED[1:]] == [10, 2, 0, 0]
    assert ran["y"].shape == (0, 1, 2)


def test_batch_norm_over_several_batches_is_that_of_all_of_them() -> None:
    x, dy, vectors = (
        floats(6, 2, 3),
        floats(6, 2, 3, seed=1),
        [floats(2, seed=2), floats(2, seed=3), [0.5, 0.5], [1.0, 2.0]],
    )
    whole = run("SpatialBN", [x, *vectors], SAVED)
    of_whole = run(
        "SpatialBNGradient", [x, vectors[0], dy, whole["saved_mean"], whole["saved_inv_std"]], ["dx", "ds", "db"]
    )
    sums = [x.sum(axis=(0, 2)), (x * x).sum(axis=(0, 2))]
    parts = [run("SpatialBN", [part, *vectors, *sums], SAVED, num_batches=2) for part in (x[:3], x[3:])]
    for name in SAVED:
        expected = np.split(whole[name], 2) if name == "y" else [whole[name]] * 2
        np.testing.assert_allclose([part[name] for part in parts], expected)
    names = ["dx", "ds", "db", "dsums", "dsumsq"]
    gradients = [
        run("SpatialBNSumsGradient", [part, vectors[0], g, *sums], names, num_batches=2)
        for part, g in ((x[:3], dy[:3]), (x[3:], dy[3:]))
    ]
    of_sums, of_squares = (sum(g[name] for g in gradients).reshape(2, 1) for name in names[3:])
    through_sums = of_sums + 2 * x * of_squares
    np.testing.assert_allclose(np.concatenate([g["dx"] for g in gradients]) + through_sums, of_whole["dx"])


def test_batch_norm_over_several_batches_needs_their_sums() -> None:
    with pytest.raises(RunError, match="5 inputs do not go with num_batches=2"):
        run("SpatialBN", [floats(2, 1, 2), [1.0], [0.0], [0.0], [1.0]], SAVED, num_batches=2)


def test_batch_norm_of_a_test_uses_the_statistics_given() -> None:
    ran = run("SpatialBN", [[[[6.0, 2.0]]], [3.0], [1.0], [2.0], [15.0]], ["y"], is_test=1, epsilon=1.0)
    np.testing.assert_allclose(ran["y"], [[[4, 1]]])


def test_batch_norm_in_place_of_its_running_statistics() -> None:
    net = Net("n")
    net.SpatialBN(["x", "s", "b", "m", "v"], ["y", "m", "v", "saved_mean", "saved_inv_std"])
    assert {"x", "s", "b"} <= set(net.add_gradient_operators(["y"]))


def test_outputs_of_batch_norm_go_with_training_or_test() -> None:
    with pytest.raises(RunError, match="do not go with is_test=0"):
        run("SpatialBN", [floats(2, 1, 2), [1.0], [0.0], [0.0], [1.0]], ["y"])


def test_group_norm_is_instance_norm_where_a_group_is_a_channel() -> None:
    inputs = [floats(2, 3, 4), floats(3), floats(3, seed=1)]
    for name in ("y", "mean", "inv_std"):
        groups = run("GroupNorm", inputs, ["y", "mean", "inv_std"], group=3)[name]
        np.testing.assert_allclose(groups, run("InstanceNorm", inputs, ["y", "mean", "inv_std"])[name])
    with pytest.raises(RunError, match="3 channels do not make 2 equal groups"):
        run("GroupNorm", inputs, ["y"], group=2)


def test_root_mean_square_norm_of_a_row() -> None:
    ran = run("RMSNorm", [[[1.0, 7.0]], [1.0, 2.0], [0.0, 1.0]], ["y", "inv_rms"])
    np.testing.assert_allclose(ran["inv_rms"], [0.2])
    np.testing.assert_allclose(ran["y"], [[0.2, 3.8]])


def test_local_response_normalization_of_a_pixel() -> None:
    x = np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    ran = run("LRN", [x], ["y", "scale"], size=3, alpha=3.0, beta=0.5, bias=1.0)
    np.testing.assert_allclose(ran["scale"].ravel(), [6, 15, 14])
    np.testing.assert_allclose(ran["y"].ravel(), [1 / np.sqrt(6), 2 / np.sqrt(15), 3 / np.sqrt(14)])
    with pytest.raises(RunError, match="has no middle"):
        run("LRN", [x], ["y"], size=4)


@pytest.mark.parametrize(
    ("type", "inputs", "outputs"),
    [
        ("SpatialBN", ["x", "s", "b", "m", "v"], SAVED),
        ("InstanceNorm", ["x", "s", "b"], ["y", "mean", "inv_std"]),
        ("GroupNorm", ["x", "s", "b"], ["y", "mean", "inv_std"]),
        ("RMSNorm", ["x", "s", "b"], ["y", "inv_rms"]),
        ("LRN", ["x"], ["y", "scale"]),
    ],
)
def test_a_gradient_into_statistics_is_refused(type: str, inputs: list[str], outputs: list[str]) -> None:
    net = Net("n", [Operator(type, inputs, outputs)])
    with pytest.raises(GradientError, match=f"passes no gradient through {outputs[-1]}"):
        net.add_gradient_operators([outputs[0], outputs[-1]])


@pytest.mark.parametrize(
    ("type", "inputs", "args", "expected"),
    [
        ("CrossEntropy", [[[0.5, 0.25, 0.25]], [[0.0, 0.5, 0.5]]], {}, [np.log(4)]),
        ("SigmoidCrossEntropyWithLogits", [[[0.0, 1e4, -1e4]], [[0.5, 1.0, 1.0]]], {}, [(np.log(2) + 1e4) / 3]),
        ("SigmoidCrossEntropyWithLogits", [[[0.0]], [[1.0]]], {"log_D_trick": 1}, [np.log(2)]),
        ("SigmoidCrossEntropyWithLogits", [[[2.0]], [[1.0]]], {"unjoined_lr_loss": 1}, [-2]),
        ("WeightedSigmoidCrossEntropyWithLogits", [[[0.0, 0.0]], [[1.0, 0.0]], [[2.0, 4.0]]], {}, [3 * np.log(2)]),
        ("BernoulliJSD", [[0.0, 1.0, 0.3], [1.0, 1.0, 0.3]], {}, [np.log(2), 0, 0]),
        ("MakeTwoClass", [[0.25]], {}, [[0.75, 0.25]]),
        ("CosineEmbeddingCriterion", [[0.5, 0.5, -0.5], [1, -1, -1]], {"margin": 0.25}, [0.5, 0.25, 0]),
        ("MarginRankingCriterion", [[1.0, 1.0, 1.0], [3.0, 3.0, 1.0], [1, -1, 1]], {}, [3, 0, 1]),
        ("PairWiseLoss", [[0.0, 0.0, 3.0], [1.0, 2.0, 2.0], [2, 1]], {}, [np.log(2), 0]),
        ("Accuracy", [[[0.1, 0.9], [0.5, 0.5], [0.5, 0.5]], [1, 0, 1]], {}, 2 / 3),
        ("Accuracy", [[[0.1, 0.9, 0.5]], [2]], {"top_k": 2}, 1),
    ],
)
def test_losses(type: str, inputs: list[Any], args: dict[str, Any], expected: Any) -> None:
    np.testing.assert_allclose(run(type, inputs, ["y"], **args)["y"], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("type", "inputs", "kind", "words"),
    [
        ("CrossEntropy", [[[0.5, 0.5]], [[0.0, 2.0]]], "bad_value", "labels in row 0 are no probabilities"),
        ("CrossEntropy", [[[0.5, 0.5]], [1.0]], "shape_mismatch", "Use LabelCrossEntropy"),
        ("Accuracy", [[[0.5, 0.5]], [2]], "bad_value", "label 2 in row 0 is none of the 2 classes"),
        ("Accuracy", [[0.5, 0.5], [1]], "shape_mismatch", "x must be (n, classes)"),
        ("MarginRankingCriterion", [[1.0], [1.0, 2.0], [1]], "shape_mismatch", "x2 must have the shape (1,) of x1"),
        ("CosineEmbeddingCriterion", [[1.0], [1.0]], "shape_mismatch", "labels must be integers (1,), 1 or -1"),
        ("LSTMUnit", [floats(1, 2, 3), floats(1, 2, 3), floats(1, 2, 9), [1, 1], [0]], "shape_mismatch", "4 d"),
        ("GRUUnit", [floats(1, 2, 3), floats(1, 2, 9), [1], [0]], "shape_mismatch", "lengths must be integers (2,)"),
        ("GRUUnit", [floats(1, 2, 3), floats(1, 2, 9), [0]], "shape_mismatch", "set sequence_lengths=0"),
        ("InstanceNorm", [floats(2, 3), floats(3), floats(3)], "shape_mismatch", "at least one spatial dimension"),
        ("InstanceNorm", [floats(2, 3, 2), floats(2), floats(3)], "shape_mismatch", "scale must have the shape (3,)"),
    ],
)
def test_misfits_are_refused(type: str, inputs: list[Any], kind: str, words: str) -> None:
    outputs = ["hidden", "cell"] if type == "LSTMUnit" else ["y"]
    with pytest.raises(RunError) as caught:
        run(type, inputs, outputs)
    assert caught.value.kind == kind
    assert words in str(caught.value) + str(caught.value.ways_out)


def test_a_step_of_a_long_short_term_memory() -> None:
    gates = np.array([[[0.0, 0.0, 0.0, 1e3], [5.0, 5.0, 5.0, 5.0]]])
    ran = run("LSTMUnit", [np.full((1, 2, 1), 7.0), np.full((1, 2, 1), 4.0), gates, [2, 1], [1]], ["hidden", "cell"])
    np.testing.assert_allclose(ran["cell"], [[[2.5], [4]]])
    np.testing.assert_allclose(ran["hidden"], [[[0.5 * np.tanh(2.5)], [7]]])


def test_a_step_of_a_gated_recurrent_unit() -> None:
    gates = np.array([[[9.0, 0.0, 1e3], [0.0, 0.0, 0.0]]])
    inputs = [np.full((1, 2, 1), 3.0), gates, [2, 1], [1]]
    np.testing.assert_allclose(run("GRUUnit", inputs, ["h"])["h"], [[[2], [3]]])
    np.testing.assert_allclose(run("GRUUnit", inputs, ["h"], drop_states=1)["h"], [[[2], [0]]])


@pytest.mark.parametrize(("type", "states", "gates"), [("LSTMUnit", 2, 4), ("GRUUnit", 1, 3)])
def test_what_stands_behind_the_end_of_a_sequence_changes_nothing(type: str, states: int, gates: int) -> None:
    before, padded = [floats(1, 2, 3, seed=at) for at in range(states)], floats(1, 2, 3 * gates)
    padded[0, 1] = np.nan
    outputs = ["h", "c"][:states]
    inputs = [*before, padded, [2, 1], [1]]
    ran = run(type, inputs, outputs)
    for y, state in zip(outputs, before, strict=True):
        np.testing.assert_array_equal(ran[y][0, 1], state[0, 1])
    given = [*inputs, *[ran[y] for y in outputs], *[np.ones((1, 2, 3))] * states]
    gradients = run(f"{type}Gradient", given, [*[f"d{y}" for y in outputs], "dgates"])
    assert (gradients["dgates"][0, 1] == 0).all()
    assert all((gradients[f"d{y}"][0, 1] == 1).all() for y in outputs)
