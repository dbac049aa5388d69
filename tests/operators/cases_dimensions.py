"""Calls of operators that flatten, stretch, cut, pad and reorder arrays, and of products of batches."""

from typing import Any

from tests.operators.case import Array, Case, floats, integers, unary


def shaped(type: str, about: str, *shape: int, **args: Any) -> Case:
    """A call on one array."""
    return Case(type, about, {"x": floats(*shape)}, args)


def product(about: str, a: tuple[int, ...], b: tuple[int, ...], **args: Any) -> Case:
    """A call of BatchMatMul."""
    return Case("BatchMatMul", about, {"a": floats(*a), "b": floats(*b, seed=1)}, args)


def weights(x: tuple[int, ...], w: tuple[int, ...], b: int) -> dict[str, Array]:
    """Inputs of FCTransposed."""
    return {"x": floats(*x), "w": floats(*w, seed=1), "b": floats(b)}


DIMENSIONS = [
    *unary("FlattenToVec"),
    shaped("Flatten", "3 dims", 2, 3, 4),
    shaped("Flatten", "axis 0", 2, 3, axis=0),
    shaped("Flatten", "axis 2", 2, 3, 4, axis=2),
    shaped("Flatten", "axis behind the last", 2, 3, axis=2),
    shaped("Flatten", "empty", 0, 3, 2),
    Case("ResizeLike", "plain", {"x": floats(3, 4), "like": floats(2, 6)}, constants=["like"]),
    shaped("ExpandDims", "first", 2, 3, dims=[0]),
    shaped("ExpandDims", "several", 2, 3, dims=[3, 0]),
    shaped("ExpandDims", "of a scalar", dims=[0, 1]),
    shaped("Squeeze", "first", 1, 3, dims=[0]),
    shaped("Squeeze", "several", 1, 2, 1, 3, dims=[2, 0]),
    shaped("PrependDim", "in two", 4, 3, dim_size=2),
    shaped("PrependDim", "one", 4, 3),
    shaped("MergeDim", "3 dims", 2, 3, 4),
    *[
        shaped(type, about, *shape)
        for type in ("NCHW2NHWC", "NHWC2NCHW")
        for about, shape in {"image": (2, 3, 2, 4), "no pixels": (2, 3), "volume": (1, 2, 3, 2, 2)}.items()
    ],
    shaped("Shape", "all", 2, 3),
    shaped("Shape", "axes", 2, 3, 4, axes=[2, 0]),
    *unary("Size"),
    Case("DepthConcat", "two", {"x": floats(3, 2), "y": floats(3, 4)}, writes=("z", "info")),
    Case("DepthConcat", "axis 2", {"x": floats(1, 2, 3), "y": floats(1, 2, 1)}, {"axis": 2}, (), ("z", "info")),
    Case("DepthSplit", "equal", {"x": floats(3, 4)}, writes=("y", "z")),
    Case("DepthSplit", "last part alone", {"x": floats(3, 4)}, {}, (), ("y", "z"), ["z"]),
]

EXTENTS = [
    *[
        Case("Expand", about, {"x": floats(*shape), "shape": integers(*new)})
        for about, shape, new in [
            ("rows", (1, 3), (4, 3)),
            ("new dimensions", (3,), (2, 4, 3)),
            ("ones keep", (2, 3), (1, 1)),
            ("both ways", (3, 1), (2, 1, 4)),
            ("scalar", (), (2, 2)),
            ("minus one keeps", (2, 1), (-1, 3)),
            ("minus one before", (3,), (2, -1, -1)),
            ("to nothing", (1, 3), (0, 3)),
        ]
    ],
    shaped("Tile", "rows", 2, 3, tiles=2),
    shaped("Tile", "columns", 2, 3, tiles=3, axis=1),
    shaped("Tile", "axis -1", 2, 3, 2, tiles=2, axis=-1),
    shaped("Tile", "once", 2, 3),
    shaped("Tile", "no copies", 2, 3, tiles=0),
    shaped("Tile", "no copies of columns", 2, 3, tiles=0, axis=-1),
    shaped("Tile", "nothing", 0, 3, tiles=2),
    Case("Tile", "by blob", {"x": floats(2, 3), "tiles": integers(2)}, {"axis": 1}),
    Case("Tile", "all by blob", {"x": floats(2, 3), "tiles": integers(2), "axis": integers(1)}),
    shaped("Slice", "to the end", 3, 4, starts=[0, 1], ends=[-1, 3]),
    shaped("Slice", "first dimension", 5, 2, starts=[1], ends=[-2]),
    shaped("Slice", "places from the end", 5, 2, starts=[-3], ends=[-1]),
    shaped("Slice", "beyond the end", 3, 2, starts=[1], ends=[9]),
    shaped("Slice", "nothing", 3, 2, starts=[2], ends=[2]),
    Case("Slice", "by blob", {"x": floats(3, 4), "starts": integers(0, 1), "ends": integers(-1, 3)}),
    *[
        shaped("PadImage", f"{mode} {order}", *shape, mode=mode, order=order, pads=[1, 2, 0, 1])
        for mode in ("constant", "reflect", "edge")
        for order, shape in {"NCHW": (2, 2, 3, 4), "NHWC": (1, 3, 4, 2)}.items()
    ],
    shaped("PadImage", "value", 1, 1, 2, 2, pad=1, value=2.5),
    shaped("PadImage", "sides", 1, 1, 2, 2, pad_t=1, pad_r=2),
    shaped("PadImage", "no margin", 1, 2, 2, 2),
    *[
        shaped("PadImage", f"{pads} {mode}", 2, 2, 4, 5, pads=list(pads), mode=mode)
        for mode in ("constant", "reflect", "edge")
        for pads in ((-1, -2, 0, -1), (2, -1, -3, 2), (-2, 0, -2, 0))
    ],
    shaped("PadImage", "cut off channels last", 1, 3, 4, 2, pad_t=-1, pad_r=-2, order="NHWC"),
    shaped("ChannelShuffle", "two groups", 2, 6, 2, 1, group=2),
    shaped("ChannelShuffle", "channels last", 2, 1, 2, 6, group=3, order="NHWC"),
    shaped("ChannelShuffle", "one group", 1, 3, 2, 2),
]

PRODUCTS = [
    *[
        product(
            f"{about} trans_a {trans_a} trans_b {trans_b}",
            (*batch, *((4, 3) if trans_a else (3, 4))),
            (*other, *((5, 4) if trans_b else (4, 5))),
            trans_a=trans_a,
            trans_b=trans_b,
            **args,
        )
        for about, batch, other, args in [
            ("batch", (2,), (2,), {}),
            ("broadcast", (2, 1), (3,), {"broadcast": 1}),
        ]
        for trans_a in (0, 1)
        for trans_b in (0, 1)
    ],
    product("matrices", (3, 4), (4, 2)),
    product("two batch dimensions", (2, 2, 3, 4), (2, 2, 4, 2)),
    product("empty batch", (0, 3, 4), (0, 4, 2)),
    *[
        product(f"{a} with {b}", a, b, broadcast=1, **args)
        for a, b, args in (
            *(((3,), (3,), {}), ((3,), (3, 2), {}), ((2, 3), (3,), {}), ((3,), (4, 3, 2), {}), ((4, 2, 3), (3,), {})),
            *(((3,), (4, 2, 3), {"trans_b": 1}), ((3, 2), (3,), {"trans_a": 1}), ((3,), (3,), {"trans_a": 1})),
            *(((0,), (0, 2), {}), ((3,), (0, 3, 2), {})),
        )
    ],
    Case("BatchMatMul", "repeated vector", {"a": floats(3)}, {"broadcast": 1}, reads=("a", "a")),
    Case("BatchMatMul", "repeated", {"a": floats(2, 3, 3)}, reads=("a", "a")),
    Case("BatchMatMul", "repeated broadcast", {"a": floats(2, 3, 3)}, {"broadcast": 1}, reads=("a", "a")),
    Case("FCTransposed", "plain", weights((3, 4), (4, 5), 5)),
    Case("FCTransposed", "x flattened", weights((3, 2, 2), (4, 5), 5)),
    Case("FCTransposed", "axis -1", weights((2, 3, 4), (4, 5), 5), {"axis": -1}),
    Case("FCTransposed", "axis_w 2", weights((3, 4), (2, 2, 5), 5), {"axis_w": 2}),
    Case("FCTransposed", "no rows", weights((0, 4), (4, 5), 5)),
    Case("FCTransposed", "x is w", {"x": floats(3, 3), "b": floats(3)}, reads=("x", "x", "b")),
]

BLOCKS = [
    shaped("SpaceToBatch", "blocks of two", 2, 3, 4, 6),
    shaped("SpaceToBatch", "blocks of three with margins", 1, 2, 4, 5, block_size=3, pad_t=1, pad_b=1, pad_r=1),
    shaped("SpaceToBatch", "padded", 1, 2, 2, 4, pad=1),
    shaped("BatchToSpace", "blocks of two", 8, 3, 2, 1),
    shaped("BatchToSpace", "without margins", 9, 2, 2, 2, block_size=3, pad_t=1, pad_b=1, pad_r=1),
    shaped("BatchToSpace", "empty batch", 0, 2, 2, 2),
]

CASES = [*DIMENSIONS, *BLOCKS, *EXTENTS, *PRODUCTS]
