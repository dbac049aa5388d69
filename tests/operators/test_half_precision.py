"""float16: what is computed on the way to a result may be larger than the dtype holds, the result is not lost by it."""

from typing import Any

import numpy as np
import pytest

import gradviz.functions as F
from gradviz import Variable
from tests.families import over
from tests.operators.cases import CASES, Array, Case

HALF = np.float16

SUMS_AND_NORMS = {
    *("ReduceMean", "ReduceL2", "Moments", "AveragedLoss", "SumElements", "SumSqrElements", "LpNorm", "CumSum"),
    *("ReduceFrontMean", "ReduceBackMean", "LayerNorm", "RMSNorm", "Normalize", "InstanceNorm", "GroupNorm", "LRN"),
    *("SpatialBN", "CosineSimilarity", "SquaredL2Distance", "DotProduct", "LabelCrossEntropy"),
    *("SigmoidCrossEntropyWithLogits", "Logit", "Gelu", "Erf", "LengthsMean", "UnsortedSegmentMean"),
    *("NormalizeGradient", "LayerNormGradient", "CosineSimilarityGradient", "InstanceNormGradient"),
    *("WeightedSum", "WeightedSumGradient", "LengthsWeightedSum", "LengthsWeightedSumWithMainInputGradient"),
    *("ConvTranspose", "ConvTransposeGradient", "ConvGradient", "Einsum", "EinsumGradient"),
    *("SoftsignGradient", "AtanGradient", "CbrtGradient", "RsqrtGradient"),
}


def results(case: Case, values: dict[str, Array]) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        return {name: np.asarray(a, np.float32) for name, a in case.forward(values).items()}


@over([case for case in CASES if case.type in SUMS_AND_NORMS])
def test_what_fits_into_float16_is_what_float32_gives(case: Case) -> None:
    for factor in (0.0, 1.0, 300.0):
        scaled = {name: a * factor for name, a in case.inputs.items() if a.dtype.kind == "f"}
        floats = {name: a.astype(HALF) for name, a in scaled.items()}
        half = results(case, {**case.inputs, **floats})
        single = results(case, {**case.inputs, **{name: a.astype(np.float32) for name, a in floats.items()}})
        for name in case.writes:
            fits = np.abs(single[name]) < np.finfo(HALF).max
            np.testing.assert_allclose(half[name][fits], single[name][fits], rtol=2e-3, atol=1e-6, err_msg=name)


MANY: dict[str, tuple[Any, float]] = {
    "mean": (F.mean, 100),
    "norm": (F.norm, 100 * 5000**0.5),
    "std": (F.std, 0),
    "the mean of a difference": (lambda x: F.mean_absolute_error(x, x + 300), 300),
    "the last of running sums": (lambda x: F.cumsum(x / 100)[-1], 5000),
    "the sum of rows": (lambda x: F.apply("LengthsSum", x / 100, np.array([5000])), 5000),
    "the norm of unit rows": (lambda x: F.norm(F.normalize(x, axis=0)), 1),
}


@pytest.mark.parametrize("about", MANY)
def test_of_many_numbers_the_result_is_there(about: str) -> None:
    function, expected = MANY[about]
    x = Variable(np.full(5000, 100, HALF))
    y = function(x)
    assert y.dtype == HALF
    np.testing.assert_allclose(np.asarray(y.data, float).reshape(()), expected, rtol=2e-3)
    if about == "norm":
        y.backward()
        np.testing.assert_allclose(np.asarray(x.grad, float), 5000**-0.5, rtol=2e-3)


ROWS = np.ones((5000, 3), HALF)
TOTALS: dict[str, tuple[Any, Array, float]] = {
    "a stretched bias": (lambda x: ROWS + x, np.zeros(3, HALF), 5000),
    "the bias of a layer": (lambda x: F.linear(ROWS, np.ones((3, 3), HALF), x), np.zeros(3, HALF), 5000),
    "tiles": (lambda x: F.tile(x, (5000, 1)), np.zeros((1, 3), HALF), 5000),
    "repeated places": (lambda x: x[np.zeros(5000, int)], np.zeros(1, HALF), 5000),
    "repeated rows of a table": (lambda x: F.embed_id(np.zeros(5000, int), x), np.zeros((1, 3), HALF), 5000),
    "a slope": (lambda x: F.prelu(-ROWS, x), np.zeros(3, HALF), -5000),
    "shares of what ties": (lambda x: F.max(x, axis=0), ROWS, 1 / 5000),
}


@pytest.mark.parametrize("about", TOTALS)
def test_a_gradient_of_many_ones_is_how_many_there_are(about: str) -> None:
    function, array, expected = TOTALS[about]
    x = Variable(array)
    F.sum(F.sum(function(x), axis=0)).backward()
    np.testing.assert_allclose(np.asarray(x.grad, float), expected, rtol=1e-3)


@pytest.mark.parametrize("type", ["ReduceSum", "ReduceL1", "ReduceFrontSum"])
def test_a_sum_of_many_ones_is_how_many_there_are(type: str) -> None:
    args = {} if type == "ReduceFrontSum" else {"axes": [0]}
    np.testing.assert_array_equal(F.apply(type, ROWS, **args).data.reshape(-1), 5000)


def test_what_is_spread_over_many_or_found_among_many_is_there() -> None:
    x = np.zeros((1, 100_000), HALF)
    np.testing.assert_allclose(np.asarray(F.softmax(x).data, float), 1e-5, rtol=6e-3)
    for far in (-F.log_softmax(x).data, F.logsumexp(x).data, F.softmax_cross_entropy(x, np.array([1])).data):
        np.testing.assert_allclose(np.asarray(far, float), np.log(100_000), rtol=1e-3)
    tens = np.full((1, 1, 112, 112), 10, HALF)
    np.testing.assert_array_equal(F.average_pooling_2d(tens, 112).data, 10)
    np.testing.assert_array_equal(F.apply("Mean", *[np.full(2, 40_000, HALF)] * 2).data, 40_000)


MILLION = np.full((1_000_000, 2), 0.1, np.float32)


@pytest.mark.parametrize(
    "result",
    [
        lambda: F.sum(MILLION, axis=0),
        lambda: F.mean(MILLION, axis=0) * 1e6,
        lambda: F.cumsum(MILLION[:, 0], axis=0)[-1],
        lambda: F.apply("ReduceFrontSum", MILLION),
        lambda: F.einsum("ij->j", MILLION),
        lambda: F.apply("LengthsSum", MILLION, np.array([1_000_000])),
        lambda: F.apply("AddGradient", MILLION, MILLION, np.zeros(2, np.float32), outputs=2)[1],
        lambda: F.apply("FCGradient", MILLION, MILLION[:2], MILLION, outputs=2)[1],
    ],
)
def test_a_million_tenths_of_float32_are_a_hundred_thousand(result: Any) -> None:
    np.testing.assert_allclose(result().data, 100_000, rtol=1e-6)


def test_no_share_of_an_infinite_gradient_is_nan() -> None:
    for function in (F.max, F.min, lambda x: F.apply("ReduceFrontMax", x), lambda x: F.apply("LengthsMax", x, [3])):
        x = Variable(np.array([1.0, 2.0, 3.0]))
        y = function(x)
        y.backward(np.full(y.shape, np.inf))
        assert sorted(x.grad) == [0, 0, np.inf]


def test_a_row_of_zeros_is_normalized_to_zeros() -> None:
    np.testing.assert_array_equal(F.normalize(np.zeros((2, 3), HALF)).data, np.zeros((2, 3)))


@pytest.mark.parametrize("function", [F.arctan, F.softsign])
def test_slopes_far_out_are_small_and_not_zero(function: Any) -> None:
    x = Variable(np.array([-1000, -256, 300, 4000], HALF))
    F.sum(function(x)).backward()
    wide = Variable(x.data.astype(np.float64))
    F.sum(function(wide)).backward()
    np.testing.assert_allclose(np.asarray(x.grad, float), wide.grad, rtol=2e-3, atol=6e-8)


@pytest.mark.parametrize(("dtype", "factor"), [("float64", 1e200), ("float64", 4e307), ("float32", 1e30)])
def test_angles_do_not_depend_on_how_long_rows_are(dtype: str, factor: float) -> None:
    near = [np.array([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], dtype), np.array([[3.0, 1.0, 2.0], [1.0, 0.5, 0.0]], dtype)]
    x, y = (Variable(array * np.array(factor, dtype)) for array in near)
    u, v = map(Variable, near)
    far, angle = F.cosine_similarity(x, y), F.cosine_similarity(u, v)
    np.testing.assert_allclose(far.data, angle.data, rtol=1e-5)
    F.sum(far).backward()
    F.sum(angle).backward()
    for one, other in ((x, u), (y, v)):
        np.testing.assert_allclose(one.grad * factor, other.grad, rtol=1e-4, atol=1e-6)
