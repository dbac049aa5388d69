"""Pad: margins around an array of any number of dimensions."""

from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import gradient_of
from .inference import misfit, need_floats
from .registry import Array, ArraySpec, Gradients, RuleAnswer, op_gradient, operator, register_gradient

ARGS: dict[str, Any] = {"pads": (), "mode": "constant", "value": 0.0}


def margins(op: Operator, shape: tuple[int, ...], *, is_padded: bool = False) -> list[tuple[int, int]]:
    """The margins before and behind each dimension; `shape` is without them, with `is_padded` with them."""
    pads, mode = list(op.args.get("pads", ())), op.args.get("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise bad_argument(op, "mode", "must be constant, reflect or edge")
    if len(pads) != 2 * len(shape) or min(pads, default=0) < 0:
        raise misfit(f"pads {pads} are not, for each dimension of {shape}, one size before it and then one behind.")
    result = list(zip(pads[: len(shape)], pads[len(shape) :], strict=True))
    for axis, (size, (before, behind)) in enumerate(zip(shape, result, strict=True)):
        size -= before + behind if is_padded else 0
        too_small = max(before, behind) >= size if mode == "reflect" else mode == "edge" and not size
        if size < 0 or (too_small and before + behind):
            raise misfit(f"{size} elements along axis {axis} are too few for margins {before, behind}, mode={mode}.")
    return result


def pad_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of Pad."""
    widths = margins(op, x.shape)
    return ArraySpec(tuple([size + sum(width) for size, width in zip(x.shape, widths, strict=True)]), x.dtype)


@operator(
    "Pad",
    "x -> y",
    formula="y = x with a margin",
    derivative="dx = dy inside, plus what the margin repeats",
    infer=pad_spec,
    args=ARGS,
)
def pad(op: Operator, x: Array) -> Array:
    """x with margins: `pads` holds the sizes before each dimension, then those behind each.

    mode: constant (`value`), reflect (without the edge), or edge (which it repeats).
    """
    widths, mode = margins(op, x.shape), op.args.get("mode", "constant")
    if not widths:
        return x
    if mode == "constant":
        return np.pad(x, widths, mode=mode, constant_values=op.args.get("value", 0.0))
    return np.pad(x, widths, mode=mode)


def pad_gradient_spec(op: Operator, dy: ArraySpec) -> ArraySpec:
    """Inference of PadGradient."""
    need_floats(op, (dy,))
    widths = margins(op, dy.shape, is_padded=True)
    return ArraySpec(tuple([size - sum(width) for size, width in zip(dy.shape, widths, strict=True)]), dy.dtype)


def unpadded(dy: Array, before: int, behind: int, mode: str) -> Array:
    """The gradient of what padding along the first axis was made of."""
    size = dy.shape[0] - before - behind
    dx = dy[before : before + size].copy()
    if mode == "reflect":
        dx[1 : before + 1] += dy[:before][::-1]
        dx[size - 1 - behind : size - 1] += dy[before + size :][::-1]
    elif mode == "edge":
        dx[0] += dy[:before].sum(axis=0)
        dx[size - 1] += dy[before + size :].sum(axis=0)
    return dx


@gradient_of(
    "Pad", "dy -> dx", derivative="∂dy = ∂dx with the margin, a constant one of zeros", infer=pad_gradient_spec
)
def pad_gradient(op: Operator, dy: Array) -> Array:
    """Gradient of Pad."""
    for axis, (before, behind) in enumerate(margins(op, dy.shape, is_padded=True)):
        inside = unpadded(np.moveaxis(dy, axis, 0), before, behind, op.args.get("mode", "constant"))
        dy = np.moveaxis(inside, 0, axis)
    return dy


@register_gradient("PadGradient")
def pad_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0]], type="Pad", args={**op.args, "value": 0.0})
