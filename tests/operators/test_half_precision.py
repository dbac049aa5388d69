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
