"""The networks of two convnet benchmarks: what the operator table says of their shapes and parameters was recorded.

Nothing is run: shapes go from operator to operator by inference, so that the largest networks take no memory.
"""

import gzip
import importlib.util
import json
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.operators import ArraySpec, lookup
from tests.golden.suite import DATA

DEMO = Path(__file__).parents[2] / "demos" / "convnet_benchmark.py"
NETWORKS = json.loads(gzip.decompress((DATA / "convnets.json.gz").read_bytes()))["nets"]
BATCH = 2

Layer = dict[str, Any]


class Builder:
    """Builds a net layer by layer, and knows the shape of each blob at once.

    Attributes:
        parameters: name -> shape of what is learned.
    """

    def __init__(self, channels: int, size: int) -> None:
        self.net = Net("convnet")
        self.parameters: dict[str, tuple[int, ...]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {"x": (BATCH, channels, size, size)}

    def add(self, type: str, inputs: list[str], extra_outputs: int = 0, **args: Any) -> str:
        """Append an operator with an output of a new name, which is returned."""
        outputs = [f"{type}{len(self.net.ops)}", *(f"{type}{len(self.net.ops)}_{i}" for i in range(extra_outputs))]
        self.net.add(type, inputs, outputs, **args)
        self.shapes |= inferred(self.net, {name: self.shapes[name] for name in inputs}, last=1)
        return outputs[0]

    def learned(self, *shape: int) -> list[str]:
        """Names of weights of this shape and of a bias for each of the first dimension."""
        names = [f"{kind}{len(self.parameters)}" for kind in "wb"]
        self.parameters |= dict(zip(names, (shape, shape[:1]), strict=True))
        self.shapes |= self.parameters
        return names

    def conv(self, x: str, outputs: int, k: int, stride: int = 1, pad: int = 0) -> str:
        """Convolution with bias."""
        learned = self.learned(outputs, self.shapes[x][1], k, k)
        return self.add("Conv", [x, *learned], kernel=k, stride=stride, pad=pad)

    def pool(self, type: str, x: str, k: int, stride: int, pad: int, cover_all: bool) -> str:
        """Pooling; with `cover_all` the last windows reach as far beyond the image as they must."""
        size = self.shapes[x][2] + 2 * pad
        rest = -(size - k) % stride if cover_all else 0
        return self.add(type, [x], kernel=k, stride=stride, pads=[pad, pad, pad + rest, pad + rest])

    def inception(self, x: str, layer: Layer) -> str:
        """Four ways from x whose channels are put side by side: 1 x 1, 3 x 3, 5 x 5, and a pool."""

        def rectified(x: str, outputs: int, k: int = 1) -> str:
            return self.add("Relu", [self.conv(x, outputs, k, pad=k // 2)])

        ways = [
            rectified(x, layer["out1"]),
            rectified(rectified(x, layer["proj3"]), layer["out3"], 3),
            rectified(rectified(x, layer["proj5"]), layer["out5"], 5),
            rectified(self.pool("MaxPool", x, 3, 1, 1, cover_all=True), layer["proj_pool"]),
        ]
        return self.add("Concat", ways, extra_outputs=1, axis=1)

    def layer(self, x: str, layer: Layer) -> str:
        """One recorded layer, from x."""
        match layer["type"]:
            case "conv":
                return self.conv(x, layer["out_ch"], layer["k"], layer["stride"], layer["pad"])
            case "linear":
                return self.add("FC", [x, *self.learned(layer["out"], prod(self.shapes[x][1:]))])
            case "relu":
                return self.add("Relu", [x])
            case "max_pool":
                return self.pool("MaxPool", x, layer["k"], layer["stride"], layer["pad"], layer["cover_all"])
            case "avg_pool":
                return self.pool("AveragePool", x, layer["k"], layer["stride"], layer["pad"], cover_all=False)
            case "lrn":
                return self.add("LRN", [x], size=layer["n"], alpha=1e-4, beta=0.75)
            case "dropout":
                return self.add("Dropout", [x], extra_outputs=1, ratio=layer["ratio"])
            case "inception":
                return self.inception(x, layer)
            case "aux":
                return self.layers(x, layer["layers"])
        raise AssertionError(layer)

    def layers(self, x: str, layers: list[Layer]) -> str:
        """Layers one after the other, but for heads on the side; each must have the shape that was recorded."""
        for layer in layers:
            y = self.layer(x, layer)
            assert self.shapes[y] == (BATCH, *layer["out_shape"]), layer
            x = x if layer["type"] == "aux" else y
        return x


def inferred(net: Net, shapes: dict[str, tuple[int, ...]], last: int | None = None) -> dict[str, tuple[int, ...]]:
    """The shapes of what the operators of `net`, or so many of the last, write, from those of what they read."""
    known = dict(shapes)
    for op in net.ops if last is None else net.ops[-last:]:
        entry = lookup(op.type)
        assert entry is not None
        assert entry.infer is not None
        specs = entry.infer(op, *[ArraySpec(known[name], np.dtype(np.float32)) for name in op.inputs])
        found = specs if isinstance(specs, tuple) and not isinstance(specs, ArraySpec) else (specs,)
        known |= {name: spec.shape for name, spec in zip(op.outputs, found, strict=True) if spec is not None}
    return {name: shape for name, shape in known.items() if name not in shapes}


@pytest.mark.parametrize("network", NETWORKS, ids=[network["name"] for network in NETWORKS])
def test_shapes_and_parameters_are_those_recorded(network: Layer) -> None:
    builder = Builder(network["in_channels"], network["insize"])
    builder.layers("x", network["layers"])
    assert sum(map(prod, builder.parameters.values())) == network["n_params"]


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """The program that times networks, as a module."""
    spec = importlib.util.spec_from_file_location("convnet_benchmark", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_program_times_the_recorded_networks(demo: ModuleType) -> None:
    recorded = {network["name"]: network for network in NETWORKS if network["name"].startswith("seed_")}
    assert {f"seed_{name}" for name in demo.ARCHITECTURES} == recorded.keys()
    for name, architecture in demo.ARCHITECTURES.items():
        network = recorded[f"seed_{name}"]
        net, y, parameters = demo.build(architecture)
        images = (BATCH, network["in_channels"], network["insize"], network["insize"])
        shapes = inferred(net, {"x": images, **parameters})
        for op, layer in zip(net.ops, network["layers"], strict=True):
            assert shapes[op.outputs[0]] == (BATCH, *layer["out_shape"])
        assert y == net.ops[-1].outputs[0]
        assert sum(map(prod, parameters.values())) == network["n_params"]
