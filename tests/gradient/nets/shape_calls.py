"""Calls of operators that move, stretch, multiply and reduce whole arrays, drawn to fit the blobs of a draft."""

import math
from collections.abc import Callable

import numpy as np

from .call import Call, Shape
from .pick import Pick


def has_dims(least: int, most: int = 4) -> Callable[[Shape], bool]:
    """Whether a shape has so many dimensions."""
    return lambda shape: least <= len(shape) <= most


def refold(pick: Pick, shape: Shape) -> list[int]:
    """Another shape of as many elements."""
    count = math.prod(shape)
    divisors = [size for size in (1, 2, 3, 4, 6) if count % size == 0]
    first = pick.one_of(divisors)
    return pick.one_of(([first, -1], [-1], [1, first, count // first], [count // first, first]))


def reshape(pick: Pick) -> Call:
    x = pick.floats()
    wanted = refold(pick, pick.shape(x))
    if pick.chance(0.3):
        return Call("Reshape", [x, pick.list_of(wanted)], outputs=2)
    return Call("Reshape", [x], {"shape": wanted}, outputs=2)


def dimensions(pick: Pick) -> Call:
    """Dimensions flattened, added or taken away."""
    type = pick.one_of(["Flatten", "FlattenToVec", "ResizeLike", "ExpandDims", "Squeeze", "PrependDim", "MergeDim"])
    if type == "Squeeze":
        x = pick.floats(lambda shape: shape[:1] == (1,))
        return Call(type, [x], {"dims": [0]})
    x = pick.floats(has_dims(2, 4) if type == "MergeDim" else has_dims(1, 3))
    shape = pick.shape(x)
    match type:
        case "Flatten":
            return Call(type, [x], {"axis": pick.random.randint(0, len(shape))} if pick.chance(0.5) else {})
        case "ResizeLike":
            return Call(type, [x, pick.floats(lambda other: math.prod(other) == math.prod(shape))])
        case "ExpandDims":
            return Call(type, [x], {"dims": pick.one_of(([0], [1], [0, 2]))})
        case "PrependDim":
            return Call(type, [x], {"dim_size": pick.one_of([n for n in (1, 2, 3) if shape[0] % n == 0])})
    return Call(type, [x])


def transpose(pick: Pick) -> Call:
    type = pick.one_of(("Transpose", "Transpose", "NCHW2NHWC", "NHWC2NCHW"))
    x = pick.floats(has_dims(2))
    if type != "Transpose" or pick.chance(0.5):
        return Call(type, [x])
    axes = list(range(len(pick.shape(x))))
    pick.random.shuffle(axes)
    return Call(type, [x], {"axes": axes})


def concat(pick: Pick) -> Call:
    first = pick.floats(has_dims(1, 3))
    shape = pick.shape(first)
    type, is_stacked = pick.one_of(("Concat", "Concat", "DepthConcat")), pick.chance(0.2)
    axis = 1 if len(shape) > 1 and pick.chance(0.5) else pick.random.randrange(len(shape))

    def fits(other: Shape) -> bool:
        return other == shape if is_stacked else without(other, axis) == without(shape, axis)

    names = [first, *(pick.existing_floats(fits) or first for _ in range(pick.random.randint(0, 2)))]
    pick.random.shuffle(names)
    return Call(type, names, {"axis": axis, **({"add_axis": 1} if is_stacked else {})}, outputs=2)


def without(shape: Shape, axis: int) -> tuple[int | None, ...]:
    """A shape whose size along `axis` does not count."""
    return tuple(None if i == axis else size for i, size in enumerate(shape))


def split(pick: Pick) -> Call:
    x = pick.floats(lambda shape: any(size > 1 for size in shape))
    shape = pick.shape(x)
    axis = pick.one_of([i for i, size in enumerate(shape) if size > 1])
    size = shape[axis]
    args: dict[str, object] = {"axis": axis} if axis != 1 or pick.chance(0.5) else {}
    type = pick.one_of(("Split", "Split", "DepthSplit"))
    if pick.chance(0.2) and size <= 4:
        return Call(type, [x], {**args, "add_axis": 1}, outputs=size)
    if pick.chance(0.3) and size % 2 == 0:
        return Call(type, [x], args, outputs=2)
    parts = [1, size - 1] if size == 2 or pick.chance(0.5) else [1, 1, size - 2]
    if pick.chance(0.2):
        return Call(type, [x, pick.list_of(parts)], args, outputs=len(parts))
    return Call(type, [x], {**args, "split": parts}, outputs=len(parts))


def cut(pick: Pick) -> Call:
    x = pick.floats(has_dims(1, 3))
    shape = pick.shape(x)
    count = pick.random.randint(1, len(shape))
    starts = [pick.random.randrange(size) for size in shape[:count]]
    ends = [pick.one_of((-1, pick.random.randint(start + 1, size))) for start, size in zip(starts, shape, strict=False)]
    if pick.chance(0.25):
        return Call("Slice", [x, pick.list_of(starts), pick.list_of(ends)])
    return Call("Slice", [x], {"starts": starts, "ends": ends})


def stretch(pick: Pick) -> Call:
    if pick.chance(0.5):
        x = pick.floats(lambda shape: len(shape) < 3)
        shape = pick.shape(x)
        return Call("Expand", [x, pick.list_of([pick.random.randint(1, 2), *shape])])
    x = pick.floats(has_dims(1, 3))
    axis, tiles = pick.random.randrange(len(pick.shape(x))), pick.random.randint(1, 3)
    if pick.chance(0.2):
        return Call("Tile", [x, pick.list_of([tiles])], {"axis": axis})
    return Call("Tile", [x], {"tiles": tiles, "axis": axis})


def factors(pick: Pick) -> tuple[str, str, dict[str, int]]:
    """Two matrices, one of them perhaps transposed."""
    a = pick.floats(has_dims(2, 2))
    if pick.chance(0.1):
        return a, a, {"trans_b": 1}
    trans_a, trans_b = pick.random.randint(0, 1), pick.random.randint(0, 1)
    inner = pick.shape(a)[0 if trans_a else 1]
    b = pick.floats(lambda shape: len(shape) == 2 and shape[1 if trans_b else 0] == inner)
    return a, b, {name: 1 for name, is_set in (("trans_a", trans_a), ("trans_b", trans_b)) if is_set}


def matmul(pick: Pick) -> Call:
    a, b, args = factors(pick)
    type = pick.one_of(("MatMul", "MatMul", "BatchMatMul"))
    if type == "BatchMatMul" and pick.chance(0.5):
        a = pick.floats(has_dims(3, 3))
        batch, rows, inner = pick.shape(a)
        if pick.chance(0.5):
            return Call(type, [a, pick.floats((inner, rows))], {"broadcast": 1})
        return Call(type, [a, pick.floats((batch, inner, rows))])
    if type == "MatMul" and pick.chance(0.15) and not args:
        product = (pick.shape(a)[0], pick.shape(b)[1])
        return Call(type, [a, b, pick.floats(lambda shape: math.prod(shape) == math.prod(product))])
    return Call(type, [a, b], args)


def layer(pick: Pick) -> Call:
    type = pick.one_of(("FC", "FC", "FCTransposed"))
    x = pick.floats(has_dims(2, 3))
    shape = pick.shape(x)
    axis = 2 if len(shape) == 3 and pick.chance(0.5) else 1
    features, outputs = math.prod(shape[axis:]), pick.random.randint(1, 4)
    w = pick.floats((features, outputs) if type == "FCTransposed" else (outputs, features))
    return Call(type, [x, w, pick.floats((outputs,))], {"axis": 2} if axis == 2 else {})


def scaling(pick: Pick) -> Call:
    x = pick.floats(has_dims(2, 3))
    shape = pick.shape(x)
    if pick.chance(0.5):
        return Call("RowMul", [x, pick.floats(shape[:1])])
    columns = (math.prod(shape[1:]),)
    return Call("ElementwiseLinear", [x, pick.floats(columns), pick.floats(columns)])


def reduction(pick: Pick) -> Call:
    type = f"Reduce{pick.one_of(('Sum', 'Mean', 'Max', 'Min', 'L1', 'L2'))}"
    if pick.chance(0.15):
        type = "Moments"
    x = pick.floats()
    shape, args = pick.shape(x), {}
    if shape and pick.chance(0.7):
        args["axes"] = [pick.one_of((-1, pick.random.randrange(len(shape))))]
    if pick.chance(0.5):
        args["keepdims"] = 0
    return Call(type, [x], args, outputs=2 if type == "Moments" else 1)


def side_reduction(pick: Pick) -> Call:
    type = f"Reduce{pick.one_of(('Front', 'Back'))}{pick.one_of(('Sum', 'Mean', 'Max'))}"
    x = pick.floats(has_dims(2, 3))
    shape = pick.shape(x)
    count = pick.random.randint(1, 2)
    args = {"num_reduce_dim": count} if count > 1 else {}
    if not pick.chance(0.3):
        return Call(type, [x], args)
    if "Front" in type:
        kept, reduced = shape[count:], shape[:count]
    else:
        kept, reduced = shape[: len(shape) - count], shape[len(shape) - count :]
    return Call(type, [x, pick.integers((math.prod(kept),), math.prod(reduced) + 1, 1)], args)


def line_maximum(pick: Pick) -> Call:
    return Call(pick.one_of(("RowwiseMax", "ColwiseMax")), [pick.floats(has_dims(2, 3))])


def total(pick: Pick) -> Call:
    type = pick.one_of(("SumElements", "SumSqrElements", "LpNorm", "AveragedLoss"))
    args = {"average": 1} if type != "AveragedLoss" and pick.chance(0.3) else {}
    if type == "LpNorm" and pick.chance(0.5):
        args["p"] = 1
    return Call(type, [pick.floats()], args)


def image(pick: Pick, *shape: int) -> str:
    """A batch of images, one that is there or new."""
    name = pick.existing_floats(has_dims(4))
    if name is not None:
        return name
    return pick.feed(np.array([pick.random.uniform(-1.7, 1.7) for _ in range(math.prod(shape))]).reshape(shape), "x")


def picture(pick: Pick) -> Call:
    """Images padded, or their pixels or channels moved."""
    type = pick.one_of(("PadImage", "SpaceToBatch", "BatchToSpace", "ChannelShuffle"))
    x = image(pick, *((4, 1, 2, 2) if type == "BatchToSpace" else (1, 2, 2, 4)))
    images, channels, height, width = pick.shape(x)
    match type:
        case "PadImage":
            mode = pick.one_of(("constant", "edge", "reflect"))
            return Call(type, [x], {"mode": mode, "pad_t": int(height > 1), "pad_l": int(width > 1)})
        case "ChannelShuffle":
            return Call(type, [x], {"group": 2 if channels % 2 == 0 else 1})
        case "BatchToSpace" if images % 4 == 0:
            return Call(type, [x])
    return Call("SpaceToBatch", [x], {"pad_b": height % 2, "pad_r": width % 2})
