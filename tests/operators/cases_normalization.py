"""Calls of the types that bring rows or channels to a common scale."""

from collections.abc import Sequence
from typing import Any

from tests.operators.case import Array, Case, floats, positive

STATISTICS = ("y", "mean", "std")
IMAGES = {"NCHW": floats(2, 3, 4, 2), "NHWC": floats(2, 4, 2, 3)}
VECTORS = {"scale": floats(3, seed=1), "bias": floats(3, seed=2)}
RUNNING = {"mean": floats(3, seed=3), "var": positive(3, seed=4)}
SAVED = ("y", "running_mean", "running_var", "saved_mean", "saved_inv_std")


def layer_norm(about: str, x: Array, given: Sequence[str] = STATISTICS, **args: Any) -> Case:
    """A call of LayerNorm with gradients into the outputs `given`."""
    return Case("LayerNorm", f"{about}, {' '.join(given)}", {"x": x}, args, writes=STATISTICS, given=given)


def affine(about: str, x: Array, *shape: int, **args: Any) -> Case:
    """A call of LayerNorm with scale and bias."""
    inputs = {"x": x, "scale": floats(*shape, seed=1), "bias": floats(*shape, seed=2)}
    return Case("LayerNorm", about, inputs, {"elementwise_affine": 1, **args}, writes=STATISTICS)


def rms_norm(about: str, x: Array, *shape: int, **args: Any) -> Case:
    """A call of RMSNorm."""
    inputs = {"x": x, "scale": floats(*shape, seed=1), "bias": floats(*shape, seed=2)}
    return Case("RMSNorm", about, inputs, args, writes=("y", "inv_rms"), given=["y"])


def group_norm(about: str, x: Array, **args: Any) -> Case:
    """A call of GroupNorm on images of 4 channels."""
    inputs = {"x": x, "scale": floats(4, seed=1), "bias": floats(4, seed=2)}
    return Case("GroupNorm", about, inputs, {"group": 2, **args}, writes=STATISTICS, given=["y"])


CASES = [
    layer_norm("matrix", floats(3, 5)),
    layer_norm("matrix", floats(3, 5), ["y"]),
    layer_norm("matrix", floats(3, 5), ["y", "mean"]),
    layer_norm("matrix", floats(3, 5), ["y", "std"]),
    layer_norm("flattened", floats(2, 3, 2)),
    layer_norm("axis 2", floats(2, 3, 4), axis=2),
    layer_norm("axis -1, epsilon", floats(2, 3, 4), axis=-1, epsilon=0.1),
    layer_norm("no rows", floats(0, 4)),
    layer_norm("no columns", floats(3, 0)),
    affine("affine", floats(3, 5), 5),
    affine("affine, flattened", floats(2, 3, 2), 3, 2),
    affine("affine, axis 2", floats(2, 3, 4), 4, axis=2),
    affine("affine, no rows", floats(0, 4), 4),
    rms_norm("matrix", floats(3, 5), 5),
    rms_norm("flattened", floats(2, 3, 2), 6),
    rms_norm("axis 2, epsilon", floats(2, 3, 4), 4, axis=2, eps=0.1),
    rms_norm("no rows", floats(0, 4), 4),
    Case("Normalize", "matrix", {"x": floats(3, 4)}),
    Case("Normalize", "vector", {"x": floats(4)}),
    Case("Normalize", "axis 0", {"x": floats(3, 4)}, {"axis": 0}),
    Case("Normalize", "axis 1 of 3", {"x": floats(2, 3, 2)}, {"axis": 1}),
    Case("Normalize", "no rows", {"x": floats(0, 4)}),
    *[
        case
        for order, x in IMAGES.items()
        for case in (
            Case("SpatialBN", order, {"x": x, **VECTORS, **RUNNING}, {"order": order}, (), SAVED, ["y"], list(RUNNING)),
            Case(
                "SpatialBN",
                f"{order}, test",
                {"x": x, **VECTORS, **RUNNING},
                {"order": order, "is_test": 1, "epsilon": 0.01},
                constants=list(RUNNING),
            ),
            Case("InstanceNorm", order, {"x": x, **VECTORS}, {"order": order}),
            Case("InstanceNorm", f"{order}, mean", {"x": x, **VECTORS}, {"order": order}, (), ("y", "mean"), ["y"]),
            Case("InstanceNorm", f"{order}, saved", {"x": x, **VECTORS}, {"order": order}, (), STATISTICS, ["y"]),
            Case("LRN", order, {"x": x}, {"order": order, "size": 3, "alpha": 0.5, "beta": 0.75, "bias": 2.0}),
            Case("LRN", f"{order}, scale", {"x": x}, {"order": order, "size": 1, "alpha": 0.1}, (), ("y", "s"), ["y"]),
        )
    ],
    Case(
        "SpatialBN",
        "one spatial dimension",
        {"x": floats(2, 3, 4), **VECTORS, **RUNNING},
        {"momentum": 0.5},
        (),
        SAVED,
        ["y"],
        list(RUNNING),
    ),
    *[
        Case(
            "SpatialBN",
            f"{about}, sums of 3 batches",
            {"x": x, **VECTORS, **RUNNING, "sums": floats(3, seed=5), "sumsq": 60 * positive(3, seed=6)},
            {"num_batches": 3, "order": "NHWC" if about == "NHWC" else "NCHW"},
            (),
            SAVED,
            ["y"],
            list(RUNNING),
        )
        for about, x in (*IMAGES.items(), ("no images", floats(0, 3, 2)))
    ],
    group_norm("NCHW", floats(2, 4, 3, 2)),
    group_norm("NHWC", floats(2, 3, 2, 4), order="NHWC"),
    group_norm("one group, epsilon", floats(2, 4, 3), group=1, epsilon=0.1),
    group_norm("no images", floats(0, 4, 2)),
    Case("InstanceNorm", "no images", {"x": floats(0, 3, 2, 2), **VECTORS}),
    Case("SpatialBN", "no images", {"x": floats(0, 3, 2), **VECTORS, **RUNNING}, {}, (), SAVED, ["y"], list(RUNNING)),
]
