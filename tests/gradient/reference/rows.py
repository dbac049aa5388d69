"""Formulas of operators on rows: read by number, added up by segments, compared, or picked."""

import torch
from torch import Tensor

from gradviz.program import Operator

from .formula import Formula, flag, sizes, whole


def segment_sum(x: Tensor, ids: Tensor, segments: int) -> Tensor:
    return x.new_zeros(segments, *x.shape[1:]).index_add(0, ids, x)


def segment_reduction(op: Operator, x: Tensor, ids: Tensor, segments: int) -> Tensor:
    total = segment_sum(x, ids, segments)
    if not op.type.endswith("Mean"):
        return total
    counts = torch.bincount(ids, minlength=segments).clamp(min=1)
    return total / counts.reshape(-1, *[1] * (x.ndim - 1))


def by_lengths(op: Operator, x: Tensor, *lists: Tensor) -> Tensor:
    """[Sparse]Lengths(Sum|Mean): x, indices?, lengths."""
    *indices, lengths = (whole(each) for each in lists)
    x = x[indices[0]] if indices else x
    return segment_reduction(op, x, torch.repeat_interleave(lengths), len(lengths))


def weighted_by_lengths(op: Operator, x: Tensor, weights: Tensor, *lists: Tensor) -> Tensor:
    *indices, lengths = (whole(each) for each in lists)
    x = x[indices[0]] if indices else x
    weights = weights if flag(op, "grad_on_weights") else weights.detach()
    x = x * weights.reshape(-1, *[1] * (x.ndim - 1))
    return segment_sum(x, torch.repeat_interleave(lengths), len(lengths))


def lengths_max(op: Operator, x: Tensor, lengths: Tensor) -> Tensor:
    parts = torch.split(x, sizes(lengths))
    return torch.stack([part.amax(0) if len(part) else x.new_zeros(x.shape[1:]) for part in parts])


def by_ids(op: Operator, x: Tensor, *lists: Tensor) -> Tensor:
    """[Sparse](Sorted|Unsorted)Segment(Sum|Mean): x, indices?, segment ids."""
    *indices, ids = (whole(each) for each in lists)
    x = x[indices[0]] if indices else x
    said = op.args.get("num_segments", -1)
    return segment_reduction(op, x, ids, said if said > 0 else int(ids.max()) + 1)


def sparse_to_dense(op: Operator, indices: Tensor, values: Tensor, *like: Tensor) -> Tensor:
    ids = whole(indices)
    rows = like[0].shape[0] if like else op.args.get("output_first_dim", 0) or int(ids.max()) + 1
    return segment_sum(values, ids, rows)


def scatter_assign(op: Operator, x: Tensor, indices: Tensor, rows: Tensor) -> Tensor:
    y = x.clone()
    y[whole(indices)] = rows
    return y


def unique(op: Operator, x: Tensor) -> tuple[Tensor, ...]:
    return torch.unique(x, return_inverse=True)[: len(op.outputs)]


def top_k(op: Operator, x: Tensor, *k: Tensor) -> tuple[Tensor, ...]:
    count, axis = int(k[0].reshape(())) if k else op.args["k"], op.args.get("axis", -1)
    values, indices = torch.topk(x, count, axis)
    places = torch.arange(x.numel()).reshape(x.shape)
    return (values, indices, places.gather(axis, indices).reshape(-1))[: len(op.outputs)]


def boolean_mask(op: Operator, x: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    return (x[mask != 0], torch.nonzero(mask).reshape(-1))[: len(op.outputs)]


def each_row(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], -1) if x.ndim else x.reshape(1, 1)


def cosine(op: Operator, x: Tensor, y: Tensor) -> Tensor:
    x, y = each_row(x), each_row(y)
    return (x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))


FORMULAS: dict[str, Formula] = {
    "Gather": lambda op, x, indices: x[whole(indices)],
    "BatchGather": lambda op, x, indices: x[:, whole(indices)],
    **dict.fromkeys(["LengthsSum", "LengthsMean", "SparseLengthsSum", "SparseLengthsMean"], by_lengths),
    **dict.fromkeys(["LengthsWeightedSum", "SparseLengthsWeightedSum"], weighted_by_lengths),
    "LengthsMax": lengths_max,
    "LengthsTile": lambda op, x, lengths: torch.repeat_interleave(x, whole(lengths), dim=0),
    **{
        f"{sparse}{order}Segment{name}": by_ids
        for sparse in ("", "Sparse")
        for order in ("Sorted", "Unsorted")
        for name in ("Sum", "Mean")
    },
    "SparseToDense": sparse_to_dense,
    "ScatterAssign": scatter_assign,
    "Unique": unique,
    "TopK": top_k,
    "BooleanMask": boolean_mask,
    "DotProduct": lambda op, x, y: (each_row(x) * each_row(y)).sum(1),
    "SquaredL2Distance": lambda op, x, y: (each_row(x) - each_row(y)).square().sum(1) / 2,
    "L1Distance": lambda op, x, y: (each_row(x) - each_row(y)).abs().sum(1),
    "CosineSimilarity": cosine,
    "SquareRootDivide": lambda op, x, scale: x / scale.detach().sqrt().reshape(-1, *[1] * (x.ndim - 1)),
}
