"""Margins: Pad, around an array of any number of dimensions, and PadImage, around images, or cut off from them."""

import numpy as np

from ..program import Operator
from .arguments import bad_argument, number_of
from .gradients import gradient_of, op_gradient
from .inference import misfit, need_floats
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient
from .sums import summed

MODES = ("constant", "reflect", "edge")


Margins = list[tuple[int, int]]
"""The sizes before and behind each dimension."""


def margins(op: Operator, shape: tuple[int, ...]) -> Margins:
    """What the argument `pads` of a Pad says for an array of as many dimensions as `shape` has."""
    pads = list(op.args.get("pads", ()))
    if len(pads) != 2 * len(shape) or min(pads, default=0) < 0:
        raise misfit(f"pads {pads} are not, for each dimension of {shape}, one size before it and then one behind.")
    return list(zip(pads[: len(shape)], pads[len(shape) :], strict=True))


def image_margins(op: Operator, shape: tuple[int, ...]) -> Margins:
    """The same of PadImage, which has margins in height and width, and may cut off there: they are negative then."""
    if len(shape) != 4:
        raise misfit(f"an image batch has four dimensions, the shape is {shape}.")
    pads = list(op.args.get("pads", ())) or [
        op.args.get(name, op.args.get("pad", 0)) for name in ("pad_t", "pad_l", "pad_b", "pad_r")
    ]
    if len(pads) != 4:
        raise misfit(f"pads {pads} are not four sizes: top, left, bottom, right.")
    sides = list(zip(pads[:2], pads[2:], strict=True))
    return [(0, 0), *sides, (0, 0)] if op.args.get("order", "NCHW") == "NHWC" else [(0, 0), (0, 0), *sides]


def widths(op: Operator, shape: tuple[int, ...], *, is_padded: bool = False) -> Margins:
    """The margins of Pad or PadImage, or of their gradients; `shape` is without them, with `is_padded` with them."""
    mode = op.args.get("mode", "constant")
    if mode not in MODES:
        raise bad_argument(op, "mode", "must be constant, reflect or edge")
    result = (image_margins if op.type.startswith("PadImage") else margins)(op, shape)
    for axis, (size, (before, behind)) in enumerate(zip(shape, result, strict=True)):
        size -= before + behind if is_padded else 0
        margin = max(before, behind)
        too_small = margin >= size if mode == "reflect" else mode == "edge" and not size
        if size < 0 or (too_small and margin > 0):
            raise misfit(f"{size} elements along axis {axis} are too few for margins {before, behind}, mode={mode}.")
        if size + min(before, 0) + min(behind, 0) < 0:
            raise misfit(f"margins {before, behind} cut off more than the {size} elements along axis {axis}.")
    return result


def added_and_cut(margins: Margins) -> tuple[Margins, Margins]:
    """What padding adds at both ends of each dimension, and then cuts off where it is negative; nothing if none is."""
    if min(map(min, margins), default=0) >= 0:
        return margins, []
    added = [(max(before, 0), max(behind, 0)) for before, behind in margins]
    return added, [(max(-before, 0), max(-behind, 0)) for before, behind in margins]


def pad_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    sizes = [size + sum(width) for size, width in zip(x.shape, widths(op, x.shape), strict=True)]
    return ArraySpec(tuple(sizes), x.dtype)


@operator(
    "PadImage",
    "x -> y",
    "y = x with a margin, or without one where pads are negative",
    "dx = dy inside, plus what the margin repeats, 0 where the image was cut off",
    infer=pad_spec,
    args={
        **dict.fromkeys(("pad", "pad_t", "pad_l", "pad_b", "pad_r"), 0),
        "pads": (),
        "mode": "constant",
        "value": 0.0,
        "order": "NCHW",
    },
    doc="x with margins `pads` (top, left, bottom, right), or `pad`, or `pad_t` and so on. "
    "x: (n, c, h, w), or by `order`.\n\n"
    "mode: constant (`value`), reflect (without the edge), or edge (which it repeats). A negative margin cuts off.",
)
@operator(
    "Pad",
    "x -> y",
    "y = x with a margin",
    "dx = dy inside, plus what the margin repeats",
    infer=pad_spec,
    args={"pads": (), "mode": "constant", "value": 0.0},
)
def pad(op: Operator, x: Array) -> Array:
    """x with margins: `pads` holds the sizes before each dimension, then those behind each.

    mode: constant (`value`), reflect (without the edge), or edge (which it repeats).
    """
    if not x.ndim:
        return x
    added, cuts = added_and_cut(widths(op, x.shape))
    mode = op.args.get("mode", "constant")
    value = {"constant_values": number_of(op, "value", x.dtype)} if mode == "constant" else {}
    y = np.pad(x, added, mode=mode, **value)
    if not cuts:
        return y
    return y[tuple([slice(before, size - behind) for size, (before, behind) in zip(y.shape, cuts, strict=True)])]


def pad_gradient_spec(op: Operator, dy: ArraySpec) -> ArraySpec:
    need_floats(op, (dy,))
    margins = widths(op, dy.shape, is_padded=True)
    return ArraySpec(tuple([size - sum(width) for size, width in zip(dy.shape, margins, strict=True)]), dy.dtype)


def unpadded(dy: Array, before: int, behind: int, mode: str) -> Array:
    """The gradient of what padding along the first axis was made of."""
    size = dy.shape[0] - before - behind
    dx = dy[before : before + size].copy()
    if mode == "reflect":
        dx[1 : before + 1] += dy[:before][::-1]
        dx[size - 1 - behind : size - 1] += dy[before + size :][::-1]
    elif mode == "edge":
        dx[0] += summed(dy[:before], 0)
        dx[size - 1] += summed(dy[before + size :], 0)
    return dx


@gradient_of("PadImage", "dy -> dx", "∂dy = ∂dx with a margin, of zeros where it is constant", infer=pad_gradient_spec)
@gradient_of("Pad", "dy -> dx", "∂dy = ∂dx with the margin, a constant one of zeros", infer=pad_gradient_spec)
def pad_gradient(op: Operator, dy: Array) -> Array:
    added, cuts = added_and_cut(widths(op, dy.shape, is_padded=True))
    dy = np.pad(dy, cuts) if cuts else dy
    for axis, (before, behind) in enumerate(added):
        if before or behind:
            inside = unpadded(np.moveaxis(dy, axis, 0), before, behind, op.args.get("mode", "constant"))
            dy = np.moveaxis(inside, 0, axis)
    return dy


@register_gradient("PadGradient")
@register_gradient("PadImageGradient")
def pad_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0]], type=op.type.removesuffix("Gradient"), args={**op.args, "value": 0.0})
