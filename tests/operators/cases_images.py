"""Calls of the types that slide windows over images: convolution and pooling."""

from typing import Any

import numpy as np

from tests.operators.case import Array, Case, floats

X = floats(2, 4, 6, 5)
"""Images, channels, height, width."""


def filters(*shape: int, bias: int = 0) -> dict[str, Array]:
    """Filters of this shape, and where `bias` is given so many numbers to add."""
    return {"w": floats(*shape, seed=1), **({"b": floats(bias, seed=2)} if bias else {})}


def channels_last(array: Array) -> Array:
    """The same images, or filters, with channels last."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def conv(about: str, x: Array, shape: tuple[int, ...], type: str = "Conv", bias: int = 0, **args: Any) -> list[Case]:
    """A call with channels second, and the same with channels last."""
    inputs = {"x": x, **filters(*shape, bias=bias)}
    last = {name: array if name == "b" else channels_last(array) for name, array in inputs.items()}
    return [Case(type, about, inputs, args), Case(type, f"{about}, NHWC", last, {**args, "order": "NHWC"})]


def pools(about: str, x: Array, dimensions: str = "", **args: Any) -> list[Case]:
    """Calls of both kinds of pooling, with channels second and last."""
    return [
        Case(f"{name}{dimensions}", f"{about}{what}", {"x": order(distinct(x))}, {**args, **more})
        for name in ("MaxPool", "AveragePool")
        for what, order, more in (("", np.copy, {}), (", NHWC", channels_last, {"order": "NHWC"}))
    ]


def distinct(x: Array) -> Array:
    """Numbers like x, so far apart that a small change makes no other the largest."""
    return np.random.default_rng(x.size).permutation(np.linspace(-2, 2, x.size)).reshape(x.shape)


CASES = [
    *conv("plain", X, (3, 4, 3, 2), kernel_h=3, kernel_w=2),
    *conv("bias", X, (3, 4, 3, 3), bias=3, kernel=3),
    *conv("kernel told by w", X, (3, 4, 2, 2), bias=3),
    *conv("one element", X, (3, 4, 1, 1), bias=3, kernel=1),
    *conv("as large as the image", X, (3, 4, 6, 5), bias=3),
    *conv("stride and margins", X, (3, 4, 3, 3), bias=3, kernel=3, stride=2, pad=1),
    *conv("a stride that leaves a rest", X, (3, 4, 2, 2), kernel=2, stride_h=3, stride_w=2),
    *conv("dilation", X, (3, 4, 2, 2), kernels=[2, 2], dilation=2, pad_t=1, pad_l=0, pad_b=2, pad_r=3),
    *conv("groups", X, (6, 2, 3, 3), bias=6, kernel=3, group=2, pads=[1, 0, 1, 2], strides=[1, 2]),
    *conv("a filter for each channel", X, (4, 1, 2, 2), kernel=2, group=4),
    *conv("one spatial dimension", floats(2, 3, 7), (4, 3, 3), bias=4, kernel=3, stride=2, pad=1),
    *conv("3 spatial dimensions", floats(2, 2, 3, 4, 3), (3, 2, 2, 2, 2), bias=3, kernel=2, stride=1, pad=1),
    *conv("no images", floats(0, 4, 6, 5), (3, 4, 3, 3), bias=3, kernel=3),
    *conv("no channels", floats(2, 0, 6, 5), (3, 0, 3, 3), bias=3, kernel=3),
    *conv("vectors", floats(2, 3, 7), (4, 3, 3), "Conv1D", bias=4, kernels=[3], pads=[1, 2], strides=[2]),
    *conv("images", X, (3, 4, 3, 3), "Conv2D", bias=3, kernel=3, pad=1),
    *conv("volumes", floats(1, 2, 3, 4, 3), (2, 2, 2, 1, 2), "Conv3D", bias=2, kernels=[2, 1, 2], dilations=[1, 1, 2]),
    *conv("plain", X, (4, 3, 3, 2), "ConvTranspose", kernel_h=3, kernel_w=2),
    *conv("bias", X, (4, 3, 3, 3), "ConvTranspose", bias=3, kernel=3, stride=2, pad=1),
    *conv("left over", X, (4, 3, 2, 2), "ConvTranspose", bias=3, kernel=2, stride=3, adj_h=2, adj_w=1),
    *conv("groups", X, (4, 3, 3, 3), "ConvTranspose", bias=6, kernel=3, group=2, dilation=2, pads=[1, 0, 2, 3]),
    *conv("one spatial dimension", floats(2, 3, 4), (3, 2, 3), "ConvTranspose", kernel=3, stride=2, adj=1),
    *conv("no images", floats(0, 4, 6, 5), (4, 3, 2, 2), "ConvTranspose", bias=3, kernel=2),
    Case("Conv", "x is w", {"x": floats(2, 3, 2, 2)}, reads=("x", "x")),
    *pools("apart", X, kernel=2, stride=2),
    *pools("overlapping", X, kernel=3, stride=2),
    *pools("margins", X, kernel=3, stride=2, pad=1),
    *pools("uneven margins", X, kernels=[2, 3], pads=[0, 2, 1, 1], strides=[1, 2]),
    *pools("gaps", X, kernel=1, stride=2),
    *pools("whole images", X, global_pooling=1),
    *pools("one spatial dimension", floats(2, 3, 7), kernel=3, stride=2, pad=1),
    *pools("no images", floats(0, 4, 6, 5), kernel=2, stride=2),
    *pools("no channels", floats(2, 0, 6, 5), kernel=2),
    *pools("vectors", floats(2, 3, 7), "1D", kernel=3),
    *pools("images", X, "2D", kernel=2, pad=1),
    *pools("volumes", floats(1, 2, 3, 4, 3), "3D", kernels=[2, 1, 3], stride=1, pads=[1, 0, 2, 0, 0, 1]),
    Case("AveragePool", "margins counted", {"x": X}, {"kernel": 3, "pad": 1, "count_include_pad": 1}),
]
