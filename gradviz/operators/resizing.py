"""Arrays made larger or smaller along their dimensions: Expand, Tile, Slice."""

from itertools import zip_longest
from typing import Any

import numpy as np

from ..program import Operator
from .broadcasting import sum_to
from .gradients import Steps, by, gradient_of, op_gradient
from .inference import canonical_axis, like_forward, misfit, need_floats, need_integers
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, operator, register_gradient
from .sums import summed

TILE_ARGS: dict[str, Any] = {"tiles": 1, "axis": 0}


def expand_spec(op: Operator, x: ArraySpec, shape: ArraySpec) -> None:
    need_integers(shape, "the shape must be integers (n,)", ndim=1)


@operator("Expand", "x, shape -> y", "y = x stretched", "dx = Σ dy over what was stretched", infer=expand_spec)
def expand(op: Operator, x: Array, shape: Array) -> Array:
    """x broadcast together with `shape`, integers (n,); a 1 or a -1 in it keeps the size of x."""
    try:
        wanted = np.broadcast_shapes(x.shape, tuple([1 if size == -1 else size for size in shape.tolist()]))
    except ValueError:
        raise misfit(
            f"x of shape {x.shape} does not stretch to {tuple(shape.tolist())}.", "Only sizes of 1 stretch."
        ) from None
    return np.broadcast_to(x, wanted).copy()


def expand_gradient_spec(op: Operator, dy: ArraySpec, x: ArraySpec) -> ArraySpec:
    need_floats(op, (dy, x))
    lead = len(dy.shape) - len(x.shape)
    if lead < 0 or any(size not in (1, wide) for size, wide in zip(x.shape, dy.shape[lead:], strict=True)):
        raise misfit(f"x of shape {x.shape} does not stretch to dy of shape {dy.shape}.")
    return ArraySpec(x.shape, dy.dtype)


@gradient_of("Expand", "dy, x -> dx", "∂dy = ∂dx stretched", infer=expand_gradient_spec)
def expand_gradient(op: Operator, dy: Array, x: Array) -> Array:
    return sum_to(dy, x.shape)


@register_gradient("ExpandGradient")
def expand_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do = Steps(op)
    return do.answer(do("Expand", g_output[0], do("Shape", op.inputs[0])))


def tile_counts(op: Operator, shape: tuple[int, ...], *given: Array) -> tuple[int, int]:
    """How many times, and along which axis counted from the front; by inputs for both where they are given."""
    count, axis = (
        op.args.get(name, default) if value is None else int(value.reshape(()).tolist())
        for (name, default), value in zip_longest(TILE_ARGS.items(), given)
    )
    if count < 0:
        raise misfit(f"tiles={count} is no number of copies.", "Give 0 or more.")
    return count, canonical_axis(axis, shape)


def tile_spec(op: Operator, x: ArraySpec, *given: ArraySpec) -> ArraySpec | None:
    """Inference of Tile; None where an input says how often."""
    for spec in given:
        need_integers(spec, "tiles and axis must each be one integer", (), (1,))
    if given:
        return None
    tiles, axis = tile_counts(op, x.shape)
    return ArraySpec((*x.shape[:axis], x.shape[axis] * tiles, *x.shape[axis + 1 :]), x.dtype)


@operator(
    "Tile",
    "x, tiles?, axis? -> y",
    "y = [x, x, ...]",
    "dx = Σ of the parts of dy, 0 for tiles = 0",
    infer=tile_spec,
    args=TILE_ARGS,
)
def tile(op: Operator, x: Array, *given: Array) -> Array:
    """x `tiles` times one behind the other along `axis`; inputs of one integer override the arguments."""
    count, along = tile_counts(op, x.shape, *given)
    before, size, after = x.shape[:along], x.shape[along], x.shape[along + 1 :]
    # Not np.tile, which writes beyond the array where the size of the result overflows.
    y = np.empty((*before, count, size, *after), x.dtype, like=x)
    y[:] = x.reshape(*before, 1, size, *after)
    return y.reshape(*before, count * size, *after)


def tile_gradient_spec(op: Operator, dy: ArraySpec, *given: ArraySpec) -> ArraySpec | None:
    """Inference of TileGradient; None where an input says how often."""
    need_floats(op, (dy,))
    if given:
        return None
    shape = untiled(dy.shape, *tile_counts(op, dy.shape))
    return ArraySpec((*shape[0], *shape[2]), dy.dtype)


def untiled(shape: tuple[int, ...], tiles: int, axis: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """`shape` as the sizes before `axis`, the copies, and the sizes of one copy from `axis` on."""
    if not tiles:
        raise misfit("of no copies, dy does not tell the shape of dx.", "Give tiles=0 to Tile as an argument.")
    if shape[axis] % tiles:
        raise misfit(f"dy of shape {shape} is not made of {tiles} equal parts along axis {axis}.")
    return shape[:axis], tiles, (shape[axis] // tiles, *shape[axis + 1 :])


def tile_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    if len(op.inputs) == 1 and op.args.get("tiles", 1) == 0:
        do = Steps(op)
        return do.answer(do.fill(op.inputs[0], 0.0))
    return op_gradient(op, [g_output[0], *op.inputs[1:]])


@gradient_of(
    "Tile",
    "dy, tiles?, axis? -> dx",
    formula="dx = Σ of the parts of dy",
    derivative="∂dy = [∂dx, ∂dx, ...]",
    infer=tile_gradient_spec,
    rule=tile_rule,
    second=by("", "∂dx, tiles, axis -> ∂dy"),
)
def tile_gradient(op: Operator, dy: Array, *given: Array) -> Array:
    before, count, behind = untiled(dy.shape, *tile_counts(op, dy.shape, *given))
    return summed(dy.reshape(*before, count, *behind), len(before))


def ranges(op: Operator, shape: tuple[int, ...], bounds: Arrays = ()) -> tuple[slice, ...]:
    """What Slice keeps of each dimension; from two inputs where given, else from the arguments."""
    if bounds:
        starts, ends = (bound.tolist() for bound in bounds)
    else:
        starts, ends = op.args.get("starts", ()), op.args.get("ends", ())
    if len(starts) != len(ends) or len(starts) > len(shape):
        raise misfit(f"starts {list(starts)} and ends {list(ends)} do not fit x of shape {shape}.")
    slices = []
    for size, *places in zip(shape, starts, ends, strict=False):
        # A place below 0 counts from behind the last element: -1 is the end.
        start, end = (min(place if place >= 0 else size + 1 + place, size) for place in places)
        if not 0 <= start <= end:
            raise misfit(f"starts {list(starts)} and ends {list(ends)} leave nothing of x of shape {shape}.")
        slices.append(slice(start, end))
    return tuple(slices)


def slice_spec(op: Operator, x: ArraySpec, *bounds: ArraySpec) -> ArraySpec | None:
    """Inference of Slice; None where inputs, both starts and ends, say what is kept."""
    if len(bounds) not in (0, 2):
        raise misfit("Slice takes both starts and ends as inputs, or neither.")
    for bound in bounds:
        need_integers(bound, "starts and ends must be integers (n,)", ndim=1)
    if bounds:
        return None
    slices = ranges(op, x.shape)
    return ArraySpec((*(part.stop - part.start for part in slices), *x.shape[len(slices) :]), x.dtype)


@operator(
    "Slice",
    "x, starts?, ends? -> y",
    "y = x[starts:ends]",
    "dx[starts:ends] = dy, 0 elsewhere",
    infer=slice_spec,
    args={"starts": (), "ends": ()},
)
def slice_(op: Operator, x: Array, *bounds: Array) -> Array:
    """The part of x from `starts` up to but without `ends`, for each of its first dimensions.

    Inputs, integers (n,), override the arguments. A place below 0 counts from behind the last element: -1 is the end.
    """
    return x[ranges(op, x.shape, bounds)]


@gradient_of(
    "Slice",
    "x, starts?, ends?, dy -> dx",
    "∂dy = ∂dx[starts:ends]",
    infer=like_forward("dy", integers="x starts ends"),
    second=by("", "∂dx, starts, ends -> ∂dy"),
)
def slice_gradient(op: Operator, x: Array, *rest: Array) -> Array:
    *bounds, dy = rest
    dx = np.zeros_like(x, dtype=dy.dtype)
    dx[ranges(op, x.shape, tuple(bounds))] = dy
    return dx
