"""Formulas of operators that move, stretch, multiply and reduce whole arrays."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gradviz.program import Operator

from .formula import Formula, flag, matrix, sizes, whole


def reshape(op: Operator, x: Tensor, *shape: Tensor) -> tuple[Tensor, Tensor]:
    wanted = sizes(shape[0]) if shape else list(op.args["shape"])
    wanted = [x.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    return x.reshape(wanted), torch.tensor(x.shape)


def flatten(op: Operator, x: Tensor) -> Tensor:
    axis = op.args.get("axis", 1)
    return x.reshape(-1, 1) if axis == x.ndim else matrix(x, axis)


def expand_dims(op: Operator, x: Tensor) -> Tensor:
    for dim in sorted(op.args["dims"]):
        x = x.unsqueeze(dim)
    return x


def transpose(op: Operator, x: Tensor) -> Tensor:
    return x.permute(*(op.args.get("axes") or reversed(range(x.ndim))))


def join_axis(op: Operator) -> int:
    return op.args.get("axis", 3 if op.args.get("order") == "NHWC" else 1)


def concat(op: Operator, *xs: Tensor) -> tuple[Tensor, Tensor]:
    axis = join_axis(op)
    if flag(op, "add_axis"):
        return torch.stack(xs, axis), torch.ones(len(xs))
    return torch.cat(xs, axis), torch.tensor([x.shape[axis] for x in xs])


def split(op: Operator, x: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
    axis, count = join_axis(op), len(op.outputs)
    parts = sizes(given[0]) if given else list(op.args.get("split", ())) or [x.shape[axis] // count] * count
    pieces = torch.split(x, parts, axis)
    return tuple(piece.squeeze(axis) for piece in pieces) if flag(op, "add_axis") else pieces


def slice_(op: Operator, x: Tensor, *bounds: Tensor) -> Tensor:
    starts, ends = ([*map(int, b)] for b in (bounds or (op.args["starts"], op.args["ends"])))
    for axis, (start, end) in enumerate(zip(starts, ends, strict=True)):
        size = x.shape[axis]
        start, end = (min(size, place if place >= 0 else size + 1 + place) for place in (start, end))
        x = x.narrow(axis, start, end - start)
    return x


def tile(op: Operator, x: Tensor, *given: Tensor) -> Tensor:
    said = [int(g.reshape(())) for g in given]
    tiles, axis = (*said, *(op.args.get(name, default) for name, default in (("tiles", 1), ("axis", 0))[len(said) :]))
    return torch.cat([x] * tiles, axis)


def pad_image(op: Operator, x: Tensor) -> Tensor:
    args, last = op.args, op.args.get("order") == "NHWC"
    sides = [args.get(f"pad_{side}", args.get("pad", 0)) for side in "tlbr"]
    top, left, bottom, right = args.get("pads") or sides
    x = x.permute(0, 3, 1, 2) if last else x
    mode = {"edge": "replicate"}.get(args.get("mode", "constant"), args.get("mode", "constant"))
    value = {"value": args.get("value", 0.0)} if mode == "constant" else {}
    y = F.pad(x, (left, right, top, bottom), mode=mode, **value)
    return y.permute(0, 2, 3, 1) if last else y


def margins(op: Operator) -> list[int]:
    return [op.args.get(f"pad_{side}", op.args.get("pad", 0)) for side in "lrtb"]


def space_to_batch(op: Operator, x: Tensor) -> Tensor:
    block = op.args.get("block_size", 2)
    x = F.pad(x, margins(op))
    return torch.cat([x[:, :, row::block, column::block] for row in range(block) for column in range(block)])


def batch_to_space(op: Operator, x: Tensor) -> Tensor:
    block, (left, right, top, bottom) = op.args.get("block_size", 2), margins(op)
    images, channels, height, width = x.shape
    y = x.new_zeros(images // block**2, channels, height * block, width * block)
    for number, part in enumerate(x.chunk(block**2)):
        y[:, :, number // block :: block, number % block :: block] = part
    return y[:, :, top : height * block - bottom, left : width * block - right]


def channel_shuffle(op: Operator, x: Tensor) -> Tensor:
    axis = x.ndim - 1 if op.args.get("order") == "NHWC" else 1
    channels = torch.arange(x.shape[axis]).reshape(op.args.get("group", 1), -1).T.reshape(-1)
    return x.index_select(axis, channels)


def fully_connected(op: Operator, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    axis, w2 = op.args.get("axis", 1), matrix(w, op.args.get("axis_w", 1))
    axis += x.ndim if axis < 0 else 0
    y = matrix(x, axis) @ (w2 if op.type == "FCTransposed" else w2.T) + b
    return y.reshape(*x.shape[:axis], y.shape[-1])


def matmul(op: Operator, a: Tensor, b: Tensor, *like: Tensor) -> Tensor:
    a2, b2 = matrix(a, op.args.get("axis_a", 1)), matrix(b, op.args.get("axis_b", 1))
    y = (a2.T if flag(op, "trans_a") else a2) @ (b2.T if flag(op, "trans_b") else b2)
    return y.reshape(like[0].shape) if like else y


def batch_matmul(op: Operator, a: Tensor, b: Tensor) -> Tensor:
    return (a.mT if flag(op, "trans_a") else a) @ (b.mT if flag(op, "trans_b") else b)


def elementwise_linear(op: Operator, x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (matrix(x, op.args.get("axis", 1)) * a + b).reshape(x.shape)


def axes_of(op: Operator, x: Tensor) -> tuple[int, ...]:
    return tuple(op.args.get("axes") or range(x.ndim))


def reduction(op: Operator, x: Tensor) -> Tensor:
    if not x.ndim:
        return x.abs() if op.type in ("ReduceL1", "ReduceL2") else x
    along = {"dim": axes_of(op, x), "keepdim": flag(op, "keepdims", 1)}
    match op.type.removeprefix("Reduce"):
        case "Sum":
            return x.sum(**along)
        case "Mean":
            return x.mean(**along)
        case "Max":
            return x.amax(**along)
        case "Min":
            return x.amin(**along)
        case "L1":
            return x.abs().sum(**along)
        case _:
            return x.square().sum(**along).sqrt()


def moments(op: Operator, x: Tensor) -> tuple[Tensor, Tensor]:
    axes, keep = axes_of(op, x), flag(op, "keepdims", 1)
    if not x.ndim:
        return x, 0 * x
    return x.mean(axes, keepdim=keep), x.var(axes, correction=0, keepdim=keep)


def side_reduction(op: Operator, x: Tensor, *lengths: Tensor) -> Tensor:
    """ReduceFront and ReduceBack: the reduced dimensions come last here."""
    count = op.args.get("num_reduce_dim", 1)
    if op.type.startswith("ReduceFront"):
        kept = x.shape[count:]
        rows = x.reshape(-1, kept.numel()).T
    else:
        kept = x.shape[: x.ndim - count]
        rows = x.reshape(kept.numel(), -1)
    counts = whole(lengths[0]) if lengths else torch.full((rows.shape[0],), rows.shape[1])
    among = torch.arange(rows.shape[1]) < counts[:, None]
    if op.type.endswith("Max"):
        return rows.masked_fill(~among, -torch.inf).amax(1).reshape(kept)
    total = (rows * among).sum(1)
    return (total / counts.clamp(min=1) if op.type.endswith("Mean") else total).reshape(kept)


def whole_array(op: Operator, x: Tensor) -> Tensor:
    """SumElements, SumSqrElements, LpNorm, AveragedLoss."""
    match op.type:
        case "SumSqrElements":
            total = x.square().sum()
        case "LpNorm":
            total = (x.abs() if op.args.get("p", 2) == 1 else x.square()).sum().reshape(1)
        case _:
            total = x.sum()
    return total / x.numel() if op.type == "AveragedLoss" or flag(op, "average") else total


FORMULAS: dict[str, Formula] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "FlattenToVec": lambda op, x: x.reshape(-1),
    "ResizeLike": lambda op, x, like: x.reshape(like.shape),
    "ExpandDims": expand_dims,
    "Squeeze": lambda op, x: x.squeeze(tuple(op.args["dims"])),
    "PrependDim": lambda op, x: x.reshape(op.args.get("dim_size", 1), -1, *x.shape[1:]),
    "MergeDim": lambda op, x: x.reshape(-1, *x.shape[2:]),
    "Transpose": transpose,
    "NCHW2NHWC": lambda op, x: x.movedim(1, -1),
    "NHWC2NCHW": lambda op, x: x.movedim(-1, 1),
    "Concat": concat,
    "DepthConcat": concat,
    "Split": split,
    "DepthSplit": split,
    "Slice": slice_,
    "Tile": tile,
    "Expand": lambda op, x, shape: x.expand(torch.broadcast_shapes(x.shape, sizes(shape))),
    "PadImage": pad_image,
    "SpaceToBatch": space_to_batch,
    "BatchToSpace": batch_to_space,
    "ChannelShuffle": channel_shuffle,
    "FC": fully_connected,
    "FCTransposed": fully_connected,
    "MatMul": matmul,
    "BatchMatMul": batch_matmul,
    "ElementwiseLinear": elementwise_linear,
    "RowMul": lambda op, x, w: x * w.reshape(-1, *[1] * (x.ndim - 1)),
    **dict.fromkeys([f"Reduce{name}" for name in ("Sum", "Mean", "Max", "Min", "L1", "L2")], reduction),
    **{f"Reduce{side}{name}": side_reduction for side in ("Front", "Back") for name in ("Sum", "Mean", "Max")},
    "Moments": moments,
    "RowwiseMax": lambda op, x: x.amax(-1),
    "ColwiseMax": lambda op, x: x.amax(-2),
    **dict.fromkeys(["SumElements", "SumSqrElements", "LpNorm", "AveragedLoss"], whole_array),
}
