"""Convolution and pooling: what they compute by definition, how arguments tell windows, and what does not fit."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from gradviz import Variable, functions
from gradviz.net import Net
from gradviz.operators import columns
from gradviz.program import Operator, RunError
from gradviz.runtime import Workspace
from tests.operators.case import Array, floats
from tests.operators.cases import CASES, Case

X, W = floats(2, 4, 6, 5), floats(6, 2, 3, 2, seed=1)


def once(type: str, *inputs: Any, outputs: int = 1, **args: Any) -> list[Array]:
    """The outputs of one operator."""
    workspace, names = Workspace(), [f"x{i}" for i in range(len(inputs))]
    for name, value in zip(names, inputs, strict=True):
        workspace.feed(name, value)
    made = [f"y{i}" for i in range(outputs)]
    workspace.run_operator(Operator(type, names, made, args))
    return [workspace[name] for name in made]


def taken(x: Array, kernel: int, stride: int, pad: int) -> dict[tuple[int, int], Array]:
    """place -> the elements of x, (n, c, count), that lie under the window there."""
    height, width = x.shape[2:]
    rows, columns = ((size + 2 * pad - kernel) // stride + 1 for size in (height, width))
    found = {}
    for i, j in product(range(rows), range(columns)):
        top, left = i * stride - pad, j * stride - pad
        part = x[:, :, max(top, 0) : top + kernel, max(left, 0) : left + kernel]
        found[i, j] = part.reshape(*x.shape[:2], -1)
    return found


@pytest.mark.parametrize(("stride", "dilation", "pad"), [(1, 1, 0), (2, 1, 1), (1, 2, 2), (3, 2, 1)])
def test_conv_by_definition(stride: int, dilation: int, pad: int) -> None:
    b = floats(6, seed=2)
    (y,) = once("Conv", X, W, b, stride=stride, dilation=dilation, pad=pad, group=2)
    for n, m, i, j in np.ndindex(y.shape):
        total = b[m]
        for c, down, across in np.ndindex(W.shape[1:]):
            row, column = i * stride + down * dilation - pad, j * stride + across * dilation - pad
            if 0 <= row < 6 and 0 <= column < 5:
                total += W[m, c, down, across] * X[n, m // 3 * 2 + c, row, column]
        np.testing.assert_allclose(y[n, m, i, j], total)
    assert y.shape[2:] == tuple(
        len(range(0, size + 2 * pad - dilation * (kernel - 1), stride)) for size, kernel in ((6, 3), (5, 2))
    )


@pytest.mark.parametrize("type", ["Conv", "MaxPool", "AveragePool"])
def test_a_stride_beyond_the_image_leaves_one_window(type: str) -> None:
    inputs, args = ([X, W], {"group": 2}) if type == "Conv" else ([X], {"kernels": [3, 2]})
    (y,), (first,) = once(type, *inputs, **args, stride=10**9), once(type, *inputs, **args)
    np.testing.assert_allclose(y, first[:, :, :1, :1], rtol=1e-12)


@pytest.mark.parametrize("args", [{}, {"stride": 2, "pad": 1}, {"dilations": [1, 2], "pads": [0, 1, 2, 1], "group": 1}])
def test_conv_transpose_is_the_adjoint_of_conv(args: dict[str, Any]) -> None:
    w = floats(3, 4, 2, 2, seed=1)
    (y,) = once("Conv", X, w, **args)
    z = floats(*y.shape, seed=2)
    left_over = [X.shape[2 + i] - once("ConvTranspose", z, w, **args)[0].shape[2 + i] for i in (0, 1)]
    (x,) = once("ConvTranspose", z, w, adjs=left_over, **args)
    assert x.shape == X.shape
    np.testing.assert_allclose((x * X).sum(), (z * y).sum())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"kernel_h": 3, "kernel_w": 2}, {"kernels": [3, 2]}),
        ({"kernel_h": 3, "stride_w": 2}, {"kernel_w": 2, "strides": [1, 2]}),
        ({}, {"kernels": [3, 2]}),
        ({"stride": 2}, {"strides": [2, 2]}),
        ({"stride_h": 2, "stride_w": 1}, {"strides": [2, 1]}),
        ({"dilation": 2}, {"dilation_h": 2, "dilation_w": 2}),
        ({"pad": 1}, {"pads": [1, 1, 1, 1]}),
        ({"pad_t": 1, "pad_l": 2, "pad_b": 0, "pad_r": 3}, {"pads": [1, 2, 0, 3]}),
        ({"pad": 1, "pad_r": 2}, {"pads": [1, 1, 1, 2]}),
    ],
)
def test_forms_of_arguments_that_say_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    np.testing.assert_array_equal(once("Conv", X, W, group=2, **one)[0], once("Conv", X, W, group=2, **other)[0])


@pytest.mark.parametrize("case", [case for case in CASES if case.type.startswith("Conv")], ids=str)
def test_columns_laid_out_in_parts_give_what_they_give_at_once(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def gradients() -> list[Array]:
        net, workspace = Net("case", [case.op]), Workspace()
        made = net.add_gradient_operators(["out"])
        for name, value in case.inputs.items():
            workspace.feed(name, value)
        workspace.run(net)
        return [workspace[str(made[name])] for name in ("out", *case.inputs)]

    at_once = gradients()
    for limit in ("MOST_BYTES", "MANY_SHARED"):  # one place at a time; then the same, of each row of the windows
        monkeypatch.setattr(columns, limit, 1)
        for found, expected in zip(gradients(), at_once, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("margin", ["top", "left"])
def test_an_infinity_over_a_margin_of_zeros_is_nan(margin: str) -> None:
    x, w = np.ones((2, 64, 4, 4)), np.zeros((1, 64, 3, 3))
    w[0, 0, 0, 0] = np.inf
    (y,) = once("Conv", x, w, pad=1)
    dw, dx = once("ConvGradient", x, np.ones_like(w), np.full_like(y, np.inf), outputs=2, pad=1, no_bias=1)
    at_margin = (slice(None), slice(None), 0) if margin == "top" else (..., 0)
    assert np.isnan(y[at_margin]).all()
    assert np.isposinf(y[..., 1:, 1:]).all()
    assert np.isnan(dw[at_margin]).all()
    assert np.isposinf(dw[..., 1, 1]).all()
    assert np.isposinf(dx).all()


def test_products_of_half_precision_are_added_up_in_single() -> None:
    x, w = floats(2, 64, 6, 6, seed=1).astype(np.float16), floats(3, 64, 3, 3, seed=2).astype(np.float16)
    (y,), (exact,) = (once("Conv", x.astype(dtype), w.astype(dtype), pad=1) for dtype in (np.float16, np.float64))
    np.testing.assert_array_equal(y, exact.astype(np.float16))


def test_outputs_choose_what_the_gradient_of_conv_computes() -> None:
    dy = floats(2, 6, 4, 4, seed=3)
    dw, db, dx = once("ConvGradient", X, W, dy, outputs=3, group=2)
    for no_bias, wanted in ((0, [dw, db]), (1, [dw, dx]), (1, [dw])):
        found = once("ConvGradient", X, W, dy, outputs=len(wanted), group=2, no_bias=no_bias)
        for array, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(array, expected)


def test_images_are_rearranged_in_memory_once() -> None:
    net, workspace = Net("net"), Workspace()
    net.Conv(["x", "w"], "conv", group=2, pad=1)
    net.Relu("conv", "relu")
    net.MaxPool("relu", "pool", kernel=3, stride=2, pad=1)
    net.AveragePool("pool", "y", kernel=2)
    made = net.add_gradient_operators(["y"])
    workspace.feed("x", X)
    workspace.feed("w", W)
    workspace.run(net)
    for name in ("conv", "relu", "pool", "y", *(str(made[blob]) for blob in ("relu", "conv"))):
        batch_last = np.moveaxis(workspace[name], 0, -1)
        assert batch_last.strides == tuple(sorted(batch_last.strides, reverse=True)), name


@pytest.mark.parametrize(("kernel", "stride", "pad"), [(2, 2, 0), (3, 2, 1), (3, 1, 2), (2, 3, 1)])
def test_pools_by_definition(kernel: int, stride: int, pad: int) -> None:
    args = {"kernel": kernel, "stride": stride, "pad": pad}
    (largest,), (mean,) = once("MaxPool", X, **args), once("AveragePool", X, **args)
    (with_margins,) = once("AveragePool", X, count_include_pad=1, **args)
    for (i, j), elements in taken(X, kernel, stride, pad).items():
        np.testing.assert_array_equal(largest[:, :, i, j], elements.max(axis=2))
        np.testing.assert_allclose(mean[:, :, i, j], elements.mean(axis=2))
        np.testing.assert_allclose(with_margins[:, :, i, j], elements.sum(axis=2) / kernel**2)


def test_a_global_pool_has_one_window() -> None:
    np.testing.assert_array_equal(once("MaxPool", X, global_pooling=1)[0], X.max(axis=(2, 3), keepdims=True))
    np.testing.assert_allclose(once("AveragePool", X, global_pooling=1)[0], X.mean(axis=(2, 3), keepdims=True))


def pool_gradient(x: Any, dy: Any, **args: Any) -> Array:
    """The gradient of MaxPool over one vector."""
    x, dy = np.array(x, dtype=float)[None, None], np.array(dy, dtype=float)[None, None]
    return once("MaxPoolGradient", x, once("MaxPool", x, **args)[0], dy, **args)[0][0, 0]


def test_elements_that_tie_share_the_gradient() -> None:
    np.testing.assert_array_equal(pool_gradient([2, 2, 1, 3], [6, 5], kernel=2, stride=2), [3, 3, 0, 5])
    np.testing.assert_array_equal(pool_gradient([2, 2, 2, 1], [6, 5], kernel=3), [2, 4.5, 4.5, 0])


@pytest.mark.parametrize("stride", [2, 1])
def test_a_gradient_that_is_infinite_reaches_the_largest_element_alone(stride: int) -> None:
    dy = [np.inf, 1] if stride == 2 else [np.inf, 1, 1]
    dx = pool_gradient([2, 1, 0, 3], dy, kernel=2, stride=stride)
    np.testing.assert_array_equal(dx, [np.inf, 0, 0, 1] if stride == 2 else [np.inf, 1, 0, 1])


def test_what_is_least_of_all_is_still_larger_than_a_margin() -> None:
    np.testing.assert_array_equal(pool_gradient([-np.inf, 1], [4, 5, 6], kernel=2, pad=1), [4, 11])


IMAGE, FILTER = np.zeros((2, 4, 6, 5)), np.zeros((6, 4, 3, 3))
MISFITS: list[tuple[str, list[Array], dict[str, Any], str, str]] = [
    # type, inputs, args, kind, words in the message
    ("Conv", [np.zeros((2, 4)), FILTER], {}, "shape_mismatch", "batch of images (n, c, ...)"),
    ("Conv2D", [np.zeros((2, 4, 5)), np.zeros((6, 4, 3))], {}, "shape_mismatch", "2 of them spatial"),
    ("Conv", [IMAGE.astype(int), FILTER], {}, "shape_mismatch", "floating-point"),
    ("Conv", [IMAGE, np.zeros((6, 3, 3, 3))], {}, "shape_mismatch", "has 4 channels, w of shape (6, 3, 3, 3) takes 3"),
    ("Conv", [IMAGE, np.zeros((6, 4, 3))], {}, "shape_mismatch", "2 spatial dimensions, w of shape (6, 4, 3) has 1"),
    ("Conv", [IMAGE, FILTER], {"kernel": 5}, "shape_mismatch", "(5, 5) are asked for, the filters w have (3, 3)"),
    ("Conv", [IMAGE, FILTER], {"group": 4}, "shape_mismatch", "4 channels and 6 filters do not make 4"),
    ("Conv", [IMAGE, FILTER], {"group": 2}, "shape_mismatch", "takes 4 in each of 2 groups"),
    ("Conv", [IMAGE, FILTER], {"group": 0}, "bad_argument", "at least 1"),
    ("Conv", [IMAGE, FILTER, np.zeros(4)], {}, "shape_mismatch", "b must have the shape (6,)"),
    ("Conv", [IMAGE, FILTER], {"stride": 0}, "bad_argument", "stride=0 must be at least 1"),
    ("Conv", [IMAGE, FILTER], {"strides": [1]}, "bad_argument", "2 integers"),
    ("Conv", [IMAGE, FILTER], {"pad": -1}, "bad_argument", "pad=-1 must be at least 0"),
    ("Conv", [IMAGE, FILTER], {"pads": [1, 1]}, "bad_argument", "4 integers"),
    ("Conv", [IMAGE, FILTER], {"dilation": 3}, "shape_mismatch", "smaller than a window of (7, 7)"),
    ("Conv", [IMAGE, np.zeros((6, 4, 3, 0))], {}, "shape_mismatch", "nothing under them"),
    ("Conv", [IMAGE, FILTER], {"order": "CHWN"}, "bad_argument", "NCHW or NHWC"),
    ("Conv", [IMAGE, FILTER], {"legacy_pad": 2}, "bad_argument", "legacy_pad=2 is not supported"),
    ("ConvGradient", [IMAGE, FILTER, np.zeros((2, 6, 4, 4))], {"no_bias": 1}, "shape_mismatch", "(2, 6, 4, 3) of y"),
    ("ConvGradient", [IMAGE, FILTER, np.zeros((2, 6, 4, 3))], {}, "shape_mismatch", "dw, db and perhaps dx"),
    ("ConvTranspose", [IMAGE, FILTER], {}, "shape_mismatch", "has 4 channels, w of shape (6, 4, 3, 3) takes 6"),
    ("ConvTranspose", [IMAGE, FILTER[:4]], {"adj": 1}, "shape_mismatch", "do not fit into strides of (1, 1)"),
    ("ConvTranspose", [IMAGE, FILTER[:4]], {"pad": 4}, "shape_mismatch", "would make images of (0, -1)"),
    ("MaxPool", [IMAGE], {}, "bad_argument", "Give kernel=3"),
    ("MaxPool", [IMAGE], {"kernel_h": 2}, "bad_argument", "kernel_w=None is no size of a window"),
    ("MaxPool", [IMAGE], {"kernel": 0}, "bad_argument", "kernel=0 must be at least 1"),
    ("MaxPool", [IMAGE], {"kernel": 6}, "shape_mismatch", "images of (6, 5) are smaller than a window of (6, 6)"),
    ("MaxPool", [IMAGE], {"kernel": 2, "pad": 2}, "shape_mismatch", "would hold whole windows"),
    ("MaxPool", [IMAGE], {"kernel": 2, "dilation": 2}, "shape_mismatch", "a dilation of (2, 2) is not supported"),
    ("MaxPool", [np.zeros((2, 4, 0, 5))], {"global_pooling": 1}, "shape_mismatch", "nothing under them"),
    ("AveragePool", [IMAGE], {"global_pooling": 1, "pad": 1}, "shape_mismatch", "Leave out its margins"),
    ("AveragePool1D", [IMAGE], {"kernel": 2}, "shape_mismatch", "1 of them spatial"),
]


@pytest.mark.parametrize(("type", "inputs", "args", "kind", "words"), MISFITS)
def test_misfits_are_refused(type: str, inputs: list[Array], args: dict[str, Any], kind: str, words: str) -> None:
    with pytest.raises(RunError) as caught:
        once(type, *inputs, **args)
    assert caught.value.kind == kind
    assert words in str(caught.value)


ENORMOUS = 10**7
"""A margin that makes images of more bytes than there are addresses, so that no machine begins to fill them."""


@pytest.mark.parametrize("args", [{}, {"kernel": ENORMOUS + 1}])
def test_what_does_not_fit_into_memory_is_refused_and_runs_again_with_less(args: dict[str, Any]) -> None:
    workspace, names = Workspace(), ["x"] if args else ["x", "w"]
    workspace.feed("x", IMAGE)
    workspace.feed("w", FILTER)
    of_type = "AveragePool" if args else "Conv"
    with pytest.raises(RunError, match=r"not enough memory: it asked for [\d,]{20,} bytes, for float64 \(") as caught:
        workspace.run_operator(Operator(of_type, names, ["y"], {"pad": ENORMOUS, **args}))
    assert caught.value.kind == "out_of_memory"
    assert f"Operator #0 y = {of_type}" in str(caught.value)
    assert "smaller batch" in str(caught.value)
    assert "y" not in workspace
    workspace.run_operator(Operator(of_type, names, ["y"], {"kernel": 3}))
    assert workspace["y"].shape == (2, 4 if args else 6, 4, 3)


@pytest.mark.parametrize("shape", [[2**40, 2**40], [2**62], [2**63]])
@pytest.mark.parametrize("of_type", ["GaussianFill", "ConstantFill"])
def test_what_is_larger_than_any_array_is_refused_in_words(of_type: str, shape: list[int]) -> None:
    with pytest.raises(RunError, match=r"not enough memory: it asked for more than the [\d,]{20,} bytes") as caught:
        Workspace().run_operator(Operator(of_type, [], ["y"], {"shape": shape}))
    assert caught.value.kind == "out_of_memory"
    assert f"Operator #0 y = {of_type}" in str(caught.value)
    with pytest.raises(RunError, match=r"tile\(x: float64 .*it asked for more than the"):
        functions.tile(Variable(IMAGE), 2**62)


def test_a_function_that_asks_for_too_much_memory_says_what_it_was_given() -> None:
    x = Variable(IMAGE)
    with pytest.raises(RunError, match=r"convolution_2d\(x: float64 .*not enough memory: it asked for") as caught:
        functions.convolution_2d(x, FILTER, pad=ENORMOUS)
    assert caught.value.kind == "out_of_memory"
    assert functions.convolution_2d(x, FILTER).shape == (2, 6, 4, 3)
