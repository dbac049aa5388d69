"""Batches of images laid out otherwise: channels first or last, shuffled, or blocks of pixels moved into the batch."""

from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import by, gradient_of
from .inference import canonical_axis, misfit
from .registry import Array, ArraySpec, operator

BLOCK_ARGS: dict[str, Any] = {
    "block_size": 2,
    **dict.fromkeys(("pad", "pad_t", "pad_l", "pad_b", "pad_r"), 0),
    "order": "NCHW",
}


def channels_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    if len(x.shape) < 2:
        raise misfit(f"x must have a batch and a channel dimension, its shape is {x.shape}.")
    count, *sizes = x.shape
    return ArraySpec(
        (count, *sizes[1:], sizes[0]) if op.type == "NCHW2NHWC" else (count, sizes[-1], *sizes[:-1]), x.dtype
    )


@operator(
    "NCHW2NHWC",
    "x -> y",
    "y = x with channels last",
    "dx = dy with channels second",
    infer=channels_spec,
    rule=by("NHWC2NCHW", "dy -> dx"),
)
def channels_last(op: Operator, x: Array) -> Array:
    """x: (n, c, ...) -> y: (n, ..., c)."""
    return np.moveaxis(x, 1, -1)


@operator(
    "NHWC2NCHW",
    "x -> y",
    "y = x with channels second",
    "dx = dy with channels last",
    infer=channels_spec,
    rule=by("NCHW2NHWC", "dy -> dx"),
)
def channels_second(op: Operator, x: Array) -> Array:
    """x: (n, ..., c) -> y: (n, c, ...)."""
    return np.moveaxis(x, -1, 1)


def shuffle_shape(op: Operator, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """`shape` as what stands before the channels, groups, channels a group, and what stands behind."""
    group = op.args.get("group", 1)
    axis = canonical_axis(-1 if op.args.get("order", "NCHW") == "NHWC" else 1, shape)
    if group < 1 or shape[axis] % group:
        raise misfit(f"the {shape[axis]} channels of x of shape {shape} do not make {group} equal groups.")
    before, behind = (int(np.prod(sizes, dtype=int)) for sizes in (shape[:axis], shape[axis + 1 :]))
    return before, group, shape[axis] // group, behind


def shuffle_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    shuffle_shape(op, x.shape)
    return x


@operator(
    "ChannelShuffle",
    "x -> y",
    "y = x, first channels of all groups first",
    "dx = dy, its channels back in their groups",
    infer=shuffle_spec,
    args={"group": 1, "order": "NCHW"},
)
def channel_shuffle(op: Operator, x: Array) -> Array:
    """x with its channels dealt out: the first of each of `group` groups, then the second, and so on."""
    return np.swapaxes(x.reshape(shuffle_shape(op, x.shape)), 1, 2).reshape(x.shape)


@gradient_of(
    "ChannelShuffle",
    "dy -> dx",
    "∂dy = ∂dx, first channels of all groups first",
    infer=shuffle_spec,
    second=by("", "∂dx -> ∂dy"),
)
def channel_shuffle_gradient(op: Operator, dy: Array) -> Array:
    before, group, size, behind = shuffle_shape(op, dy.shape)
    return np.swapaxes(dy.reshape(before, size, group, behind), 1, 2).reshape(dy.shape)


def block_and_margins(op: Operator, shape: tuple[int, ...]) -> tuple[int, list[tuple[int, int]]]:
    """The block size of `op`, and its margins in height and width."""
    block = op.args.get("block_size", 2)
    if block < 1:
        raise bad_argument(op, "block_size", "must be at least 1")
    if op.args.get("order", "NCHW") != "NCHW":
        raise bad_argument(op, "order", "is not supported", "Put NHWC2NCHW before it.")
    if len(shape) != 4:
        raise misfit(f"x must be an image batch (n, c, h, w), its shape is {shape}.")
    top, left, bottom, right = (
        op.args.get(name, op.args.get("pad", 0)) for name in ("pad_t", "pad_l", "pad_b", "pad_r")
    )
    if min(top, left, bottom, right) < 0:
        raise misfit(f"margins {(top, left, bottom, right)} must be 0 or more.")
    return block, [(top, bottom), (left, right)]


def blocked_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    block, margins = block_and_margins(op, x.shape)
    height, width = (size + sum(margin) for size, margin in zip(x.shape[2:], margins, strict=True))
    if height % block or width % block:
        raise misfit(f"images of {height} x {width} pixels, margins included, do not divide into blocks of {block}.")
    return ArraySpec((x.shape[0] * block * block, x.shape[1], height // block, width // block), x.dtype)


@operator(
    "SpaceToBatch",
    "x -> y",
    "y = each place in a block of block_size² pixels as an image of its own",
    "dx = dy, the pixels back in their blocks",
    infer=blocked_spec,
    args=BLOCK_ARGS,
    rule=by("BatchToSpace", "dy -> dx"),
)
def space_to_batch(op: Operator, x: Array) -> Array:
    """Blocks of `block_size` b moved into the batch. x: (n, c, h, w) -> y: (b · b · n, c, h / b, w / b).

    h and w count with margins of zeros: `pad`, or `pad_t`, `pad_l`, `pad_b` and `pad_r`.
    """
    block, margins = block_and_margins(op, x.shape)
    wide = np.pad(x, [(0, 0), (0, 0), *margins])
    count, channels, height, width = wide.shape
    cells = wide.reshape(count, channels, height // block, block, width // block, block)
    return np.transpose(cells, (3, 5, 0, 1, 2, 4)).reshape(
        count * block * block, channels, height // block, width // block
    )


def spaced_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    block, margins = block_and_margins(op, x.shape)
    if x.shape[0] % (block * block):
        raise misfit(f"the {x.shape[0]} images of x do not make blocks of {block} x {block} pixels.")
    height, width = (size * block - sum(margin) for size, margin in zip(x.shape[2:], margins, strict=True))
    if min(height, width) < 0:
        raise misfit(f"x of shape {x.shape} is smaller than its margins {margins}.")
    return ArraySpec((x.shape[0] // (block * block), x.shape[1], height, width), x.dtype)


@operator(
    "BatchToSpace",
    "x -> y",
    "y = images as the places in blocks of block_size² pixels",
    "dx = dy, each place in a block as an image of its own",
    infer=spaced_spec,
    args=BLOCK_ARGS,
    rule=by("SpaceToBatch", "dy -> dx"),
)
def batch_to_space(op: Operator, x: Array) -> Array:
    """What SpaceToBatch undoes. x: (b · b · n, c, h, w) -> y: (n, c, h · b, w · b), less the margins."""
    block, (high, wide) = block_and_margins(op, x.shape)
    count, channels, height, width = x.shape
    cells = x.reshape(block, block, count // (block * block), channels, height, width)
    y = np.transpose(cells, (2, 3, 4, 0, 5, 1)).reshape(cells.shape[2], channels, height * block, width * block)
    return y[:, :, high[0] : height * block - high[1], wide[0] : width * block - wide[1]]
