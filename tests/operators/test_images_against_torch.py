"""Convolution and pooling of random shapes: what they compute and their gradients are those of PyTorch."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.operators import columns
from gradviz.runtime import Workspace
from tests.operators.case import Array

pytest.importorskip("torch", reason="the reference is PyTorch: pip install torch")
torch: Any = import_module("torch")

SHAPES = 60
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
"""Of the largest number of an array, the most that another may differ by."""


class Layer(NamedTuple):
    """An operator that reads x, and of what else it reads the arrays; and the same by PyTorch."""

    type: str
    args: dict[str, Any]
    inputs: dict[str, Array]
    by_torch: Callable[..., Any]


def conv(random: np.random.Generator) -> Layer:
    """Conv or ConvTranspose in one to three dimensions, with groups, dilation, strides and margins."""
    dimensions, groups = int(random.choice([1, 2, 2, 2, 3])), int(random.choice([1, 1, 2, 3]))
    kernel, stride, dilation = ([int(k) for k in random.integers(1, 4, dimensions)] for _ in range(3))
    pad = [int(p) for p in random.integers(0, 3, dimensions)]
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    sizes = [max(1, e - 2 * p) + int(random.integers(0, 9)) for e, p in zip(extent, pad, strict=True)]
    of_input, of_output = (groups * int(channels) for channels in random.integers(1, 5, 2))
    is_transposed = random.random() < 0.25 and all(
        (size - 1) * s + e - 2 * p > 0 for size, s, e, p in zip(sizes, stride, extent, pad, strict=True)
    )
    inputs = {"x": random.normal(size=(int(random.integers(1, 5)), of_input, *sizes))}
    if is_transposed:
        inputs["w"] = random.normal(size=(of_input, of_output // groups, *kernel))
    else:
        inputs["w"] = random.normal(size=(of_output, of_input // groups, *kernel))
    if random.random() < 0.5:
        inputs["b"] = random.normal(size=of_output)
    args = {"strides": stride, "dilations": dilation, "pads": [*pad, *pad], "group": groups}
    function = getattr(torch.nn.functional, f"conv{'_transpose' if is_transposed else ''}{dimensions}d")
    words = {"stride": stride, "padding": pad, "dilation": dilation, "groups": groups}
    return Layer("ConvTranspose" if is_transposed else "Conv", args, inputs, lambda *xs: function(*xs, **words))


def pool(random: np.random.Generator) -> Layer:
    """MaxPool or AveragePool, the windows of which may reach beyond the images in the end."""
    dimensions, is_max = int(random.choice([1, 2, 2, 3])), random.random() < 0.6
    kernel, stride = ([int(k) for k in random.integers(1, 5, dimensions)] for _ in range(2))
    pad = [int(random.integers(0, k // 2 + 1)) for k in kernel]
    words: dict[str, Any] = {"kernel_size": kernel, "stride": stride, "padding": pad}
    if is_max:
        words["ceil_mode"] = bool(random.random() < 0.5)
    else:
        words["count_include_pad"] = bool(random.random() < 0.5)
    function = getattr(torch.nn.functional, f"{'max' if is_max else 'avg'}_pool{dimensions}d")
    shape = (int(random.integers(1, 12)), int(random.integers(1, 4)), *[k + int(random.integers(0, 9)) for k in kernel])
    # All numbers apart: PyTorch gives the first of those that tie everything.
    x = random.permutation(np.prod(shape)).reshape(shape) / np.prod(shape)
    windows = zip(function(torch.tensor(x), **words).shape[2:], stride, kernel, shape[2:], pad, strict=True)
    behind = [max(p, (places - 1) * s + k - size - p) for places, s, k, size, p in windows]
    args: dict[str, Any] = {"kernels": kernel, "strides": stride, "pads": [*pad, *behind]}
    if not is_max:
        args["count_include_pad"] = int(words["count_include_pad"])
    return Layer("MaxPool" if is_max else "AveragePool", args, {"x": x}, lambda x: function(x, **words))


def compare(layer: Layer, random: np.random.Generator, dtype: str) -> None:
    """What a layer makes, and the gradients of what it reads."""
    inputs = {name: array.astype(dtype) for name, array in layer.inputs.items()}
    leaves = [torch.tensor(array, requires_grad=True) for array in inputs.values()]
    y = layer.by_torch(*leaves)
    dy = random.normal(size=y.shape).astype(dtype)
    expected = [y.detach(), *torch.autograd.grad(y, leaves, torch.tensor(dy))]

    net, workspace = Net("layer"), Workspace()
    net.add(layer.type, [*inputs], "y", **layer.args)
    gradients = net.add_gradient_operators({"y": "dy"})
    for name, array in {**inputs, "dy": dy}.items():
        workspace.feed(name, array)
    workspace.run(net)
    shapes = [array.shape for array in inputs.values()]
    for name, right in zip(("y", *(str(gradients[name]) for name in inputs)), map(np.asarray, expected), strict=True):
        found, about = workspace[name], f"{name} of {layer.type} {layer.args} of {shapes}, {dtype}"
        assert (found.shape, found.dtype) == (right.shape, np.dtype(dtype)), about
        limit = TOLERANCE[dtype] * max(1, abs(right).max(initial=0))
        np.testing.assert_allclose(found, right, rtol=0, atol=limit, err_msg=about)


@pytest.mark.parametrize("seed", range(SHAPES))
def test_layers_of_random_shapes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:  # rows of windows share columns
        monkeypatch.setattr(columns, "MANY_SHARED", 1)
    random = np.random.default_rng(seed)
    dtype = str(random.choice([*TOLERANCE]))
    compare((conv if random.random() < 0.6 else pool)(random), random, dtype)


@pytest.mark.parametrize("batch", [1, 2, 40])
def test_layers_of_many_channels(batch: int) -> None:
    """Columns in several blocks, and so many that products are turned."""
    random = np.random.default_rng(batch)
    inputs = {"x": random.normal(size=(batch, 64, 26, 26)), "w": random.normal(size=(32, 64, 3, 3))}
    layer = Layer("Conv", {"pad": 1}, inputs, lambda x, w: torch.nn.functional.conv2d(x, w, padding=1))
    compare(layer, random, "float32")
