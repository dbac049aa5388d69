"""Chainer's steps of the networks: it wants an environment of its own."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks import convnet, mlp
from tests.benchmarks.mlp import Blobs, Step


def perceptron(blobs: Blobs) -> Step:
    """The network of `tests.benchmarks.mlp`."""

    def scores(functions: Any, leaves: dict[str, Any]) -> Any:
        x = leaves["x"]
        for layer in mlp.LAYERS:
            x = functions.linear(x, leaves[f"w{layer}"], leaves[f"b{layer}"])
            x = x if layer == mlp.LAYERS[-1] else functions.relu(x)
        return x

    return _step(blobs, mlp.LEAVES, scores)


def lenet(blobs: Blobs) -> Step:
    """The network of `tests.benchmarks.convnet`."""

    def scores(functions: Any, leaves: dict[str, Any]) -> Any:
        x = leaves["x"]
        for layer in ("conv1", "conv2"):
            y = functions.convolution_2d(x, leaves[f"{layer}_w"], leaves[f"{layer}_b"])
            x = functions.max_pooling_2d(y, 2)
        x = functions.relu(functions.linear(x, leaves["fc3_w"], leaves["fc3_b"]))
        return functions.linear(x, leaves["pred_w"], leaves["pred_b"])

    return _step(blobs, convnet.LEAVES, scores)


def chainer() -> Any:
    """The module; it wants a table of numpy 1 when it is imported."""
    if not hasattr(np, "sctypes"):
        integers, floats = [np.int8, np.int16, np.int32, np.int64], [np.float16, np.float32, np.float64]
        np.sctypes = {"int": integers, "float": floats}  # type: ignore[attr-defined]
    return import_module("chainer")


def _step(blobs: Blobs, names: Iterable[str], scores: Callable[[Any, dict[str, Any]], Any]) -> Step:
    """Loss and gradients of what `scores` makes of the leaves."""
    functions, variable = chainer().functions, chainer().Variable
    leaves = {name: variable(blobs[name]) for name in names}
    labels = blobs["labels"].astype(np.int32)

    def step() -> dict[str, Any]:
        loss = functions.softmax_cross_entropy(scores(functions, leaves), labels)
        for leaf in leaves.values():
            leaf.cleargrad()
        loss.backward()
        return {name: leaf.grad for name, leaf in leaves.items()}

    return step
