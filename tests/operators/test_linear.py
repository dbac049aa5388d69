"""Fully connected layers of all proportions: few rows go through large weights in strips, many at once."""

import numpy as np
import pytest

from gradviz.net import Net
from gradviz.runtime import Workspace

SHAPES = [
    *[(1, 700, 1500), (3, 1100, 1009), (4, 1024, 1024), (4, 3, 400_000), (5, 700, 800), (8, 300, 700)],
    *[(9, 300, 700), (16, 300, 700), (17, 300, 700), (600, 40, 30), (0, 5, 4)],
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("type", ["FC", "FCTransposed"])
def test_layers_of_all_proportions(type: str, shape: tuple[int, int, int]) -> None:
    (rows, features, outputs), random = shape, np.random.default_rng(0)
    x, w, b = (random.normal(size=size) for size in ((rows, features), (outputs, features), outputs))
    dy = random.normal(size=(rows, outputs))
    net, workspace = Net("layer"), Workspace()
    net.add(type, ["x", "w", "b"], "y")
    gradients = net.add_gradient_operators({"y": "dy"})
    is_transposed = type == "FCTransposed"
    for name, array in {"x": x, "w": w.T if is_transposed else w, "b": b, "dy": dy}.items():
        workspace.feed(name, array)
    workspace.run(net)
    dw = dy.T @ x
    expected = {
        "y": x @ w.T + b,
        gradients["x"]: dy @ w,
        gradients["w"]: dw.T if is_transposed else dw,
        gradients["b"]: dy.sum(axis=0),
    }
    for name, right in expected.items():
        np.testing.assert_allclose(workspace[str(name)], right, atol=1e-8)
