"""The networks of two convnet benchmarks, as the demos have them: their layers, shapes and parameters were recorded.

Nothing is run: shapes go from operator to operator by inference, so that the largest networks take no memory.
"""

import gzip
import importlib.util
import json
import sys
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.operators import ArraySpec, lookup
from tests.golden.suite import DATA

DEMO = Path(__file__).parents[2] / "demos" / "convnets.py"
NETWORKS = json.loads(gzip.decompress((DATA / "convnets.json.gz").read_bytes()))["nets"]
BATCH = 2

Layer = dict[str, Any]


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """The table of networks, as a module."""
    spec = importlib.util.spec_from_file_location("convnets", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["convnets"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inferred(net: Net, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes of what the operators of `net` write, from those of what they read."""
    known = dict(shapes)
    for op in net.ops:
        entry = lookup(op.type)
        assert entry is not None
        assert entry.infer is not None
        specs = entry.infer(op, *[ArraySpec(known[name], np.dtype(np.float32)) for name in op.inputs])
        found = specs if isinstance(specs, tuple) and not isinstance(specs, ArraySpec) else (specs,)
        known |= {name: spec.shape for name, spec in zip(op.outputs, found, strict=True) if spec is not None}
    return known


def as_recorded(layers: Iterable[Any]) -> Iterator[Layer]:
    """The layers of the demo in the words of the recording, without names and shapes."""
    for layer in layers:
        told = layer._asdict()
        match type(layer).__name__:
            case "Conv":
                yield {"type": "conv", "out_ch": told["filters"], "k": told["kernel"]} | without(told, "filters kernel")
            case "Linear":
                yield {"type": "linear", "out": told["outputs"]}
            case "Relu":
                yield {"type": "relu"}
            case "MaxPool":
                yield {"type": "max_pool", "k": told["kernel"], "cover_all": True} | without(told, "kernel")
            case "AveragePool":
                yield {"type": "avg_pool", "k": told["kernel"], "stride": told["stride"], "pad": 0}
            case "Normalize":
                yield {"type": "lrn", "n": told["near"]}
            case "Dropout":
                yield {"type": "dropout", "ratio": told["ratio"]}
            case "Inception":
                renamed = {"proj3": told["before3"], "proj5": told["before5"], "proj_pool": told["behind_pool"]}
                yield {"type": "inception"} | renamed | {name: told[name] for name in ("out1", "out3", "out5")}
            case "Head":
                yield {"type": "aux", "layers": [*as_recorded(told["layers"])]}


def without(layer: Layer, names: str) -> Layer:
    """A layer less these entries, in those inside it too."""
    kept = {name: value for name, value in layer.items() if name not in names.split()}
    return kept | ({"layers": [without(each, names) for each in kept["layers"]]} if "layers" in kept else {})


@pytest.mark.parametrize("network", NETWORKS, ids=[network["name"] for network in NETWORKS])
def test_layers_shapes_and_parameters_are_those_recorded(network: Layer, demo: ModuleType) -> None:
    _, is_of_seed, name = network["name"].rpartition("seed_")
    architecture = (demo.MODELS if is_of_seed else demo.ARCHITECTURES)[name]
    recorded = [without(layer, "name in_ch in_ out_shape") for layer in network["layers"]]
    recorded = [without(layer, "out_ch") if layer["type"] == "inception" else layer for layer in recorded]
    assert [*as_recorded(architecture.layers)] == recorded

    calls, heads = demo.NetCalls(), list[str]()
    assert (architecture.channels, architecture.size) == (network["in_channels"], network["insize"])
    ends = [*demo.through(architecture.layers, "x", architecture.channels, architecture.size, calls, heads)]
    images = (BATCH, architecture.channels, architecture.size, architecture.size)
    shapes = inferred(calls.net, {"x": images, **calls.shapes})
    for (x, _, _), layer in zip(ends, network["layers"], strict=True):
        end = heads.pop(0) if layer["type"] == "aux" else x
        assert shapes[end] == (BATCH, *layer["out_shape"]), layer
    assert heads == []
    assert sum(map(prod, calls.shapes.values())) == network["n_params"]


def test_every_recorded_network_can_be_timed(demo: ModuleType) -> None:
    assert {network["name"] for network in NETWORKS} == {*(f"seed_{name}" for name in demo.MODELS), *demo.ARCHITECTURES}


def test_the_engines_give_the_same_gradients(demo: ModuleType) -> None:
    inception = demo.Inception(3, 2, 4, 2, 3, 2)
    head = demo.Head((demo.AveragePool(3, 2), demo.Conv(3, 1), demo.Relu(), demo.Linear(4)))
    layers = (
        demo.Conv(4, 3, 2, 1),
        demo.Relu(),
        demo.MaxPool(3, 2),
        demo.Normalize(3),
        inception,
        head,
        demo.Linear(4),
    )
    architecture, found = demo.Architecture(2, 21, layers), {}
    images = np.random.default_rng(0).normal(size=(3, 2, 21, 21)).astype(np.float32)
    for name in ("net", "rank", "tape"):
        engine = demo.engine_of(name, architecture)
        for _ in range(2):  # what an iteration leaves behind does not count in the next
            engine.give(images)
            engine.forward()
            engine.seed(3)
            engine.backward()
        found[name] = engine.gradients()
    for name in ("rank", "tape"):
        for parameter, gradient in found["net"].items():
            assert np.abs(gradient).max() > 0
            np.testing.assert_allclose(found[name][parameter], gradient, rtol=1e-4, atol=1e-4, err_msg=parameter)
