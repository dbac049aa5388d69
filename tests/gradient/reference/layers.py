"""Formulas of layers: softmax and losses, normalization, and steps of recurrent networks."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gradviz.program import Operator

from .formula import Formula, flag, matrix, sizes, whole

FLOOR = 1e-20


def softmax(op: Operator, x: Tensor) -> Tensor:
    return matrix(x, op.args.get("axis", 1)).softmax(1).reshape(x.shape)


def softmax_with_loss(op: Operator, x: Tensor, labels: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
    x2 = matrix(x, op.args.get("axis", 1))
    if flag(op, "label_prob"):
        chosen = labels.detach().reshape(x2.shape)
    else:
        chosen = F.one_hot(whole(labels).reshape(-1), x2.shape[1])
    losses = -(chosen * x2.log_softmax(1)).sum(1)
    w = weights[0].detach().reshape(-1) if weights else torch.ones_like(losses)
    divisor = w.sum() if weights and not flag(op, "average_by_batch_size") else len(w)
    return softmax(op, x), op.args.get("scale", 1.0) * (w * losses).sum() / divisor


def probabilities(x: Tensor) -> Tensor:
    return x.reshape(1, -1) if x.ndim == 1 else matrix(x, 1)


def label_cross_entropy(op: Operator, x: Tensor, labels: Tensor) -> Tensor:
    x2 = probabilities(x)
    return -x2.gather(1, whole(labels).reshape(-1, 1)).clamp(min=FLOOR).log().reshape(-1)


def cross_entropy(op: Operator, x: Tensor, labels: Tensor) -> Tensor:
    return -(probabilities(labels.detach()) * probabilities(x).clamp(min=FLOOR).log()).sum(1)


def logits_loss(op: Operator, x: Tensor, targets: Tensor, *weights: Tensor) -> Tensor:
    t = targets.detach()
    if flag(op, "unjoined_lr_loss"):
        terms = x * t + (1 - t) * F.logsigmoid(-x)
    elif flag(op, "log_D_trick"):
        terms = (2 * t - 1) * F.logsigmoid(x)
    else:
        terms = t * F.logsigmoid(x) + (1 - t) * F.logsigmoid(-x)
    terms = weights[0].detach() * terms if weights else terms
    return -terms.mean(-1) if x.ndim else -terms


def entropy(p: Tensor) -> Tensor:
    return -p * p.log() - (1 - p) * (1 - p).log()


def bernoulli_jsd(op: Operator, x: Tensor, targets: Tensor) -> Tensor:
    t = targets.detach()
    return entropy((x + t) / 2) - (entropy(x) + entropy(t)) / 2


def cosine_embedding(op: Operator, s: Tensor, labels: Tensor) -> Tensor:
    return torch.where(labels == 1, 1 - s, (s - op.args.get("margin", 0.0)).clamp(min=0))


def margin_ranking(op: Operator, x1: Tensor, x2: Tensor, labels: Tensor) -> Tensor:
    return (op.args.get("margin", 1.0) - labels.detach() * (x1 - x2)).clamp(min=0)


def pair_loss(op: Operator, x: Tensor, labels: Tensor, *lengths: Tensor) -> Tensor:
    """One number for each session: the mean over its pairs of which the first has the greater label."""
    sessions = sizes(lengths[0]) if lengths else [x.shape[0]]
    losses = []
    for own, marks in zip(x.reshape(-1).split(sessions), labels.detach().reshape(-1).split(sessions), strict=True):
        first, second = torch.nonzero(marks[:, None] > marks, as_tuple=True)
        losses.append(-F.logsigmoid(own[first] - own[second]).sum() / max(len(first), 1))
    return torch.stack(losses)


def accuracy(op: Operator, x: Tensor, labels: Tensor) -> Tensor:
    best = x.topk(op.args.get("top_k", 1), dim=1).indices
    return (best == whole(labels).reshape(-1, 1)).any(1).double().mean().float()


def layer_norm(op: Operator, x: Tensor, *affine: Tensor) -> tuple[Tensor, ...]:
    axis = op.args.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    x2 = matrix(x, axis)
    mean = x2.mean(1, keepdim=True)
    std = (x2.var(1, correction=0, keepdim=True) + op.args.get("epsilon", 1e-5)).sqrt()
    y = (x2 - mean) / std
    if flag(op, "elementwise_affine"):
        scale, bias = affine
        y = y * scale.reshape(-1) + bias.reshape(-1)
    statistic = (*x.shape[:axis], 1)
    return y.reshape(x.shape), mean.reshape(statistic), std.reshape(statistic)


def rms_norm(op: Operator, x: Tensor, scale: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    axis = op.args.get("axis", 1)
    x2 = matrix(x, axis)
    inv_rms = (x2.square().mean(1) + op.args.get("eps", 0.0)).rsqrt()
    y = x2 * inv_rms[:, None] * scale.reshape(-1) + bias.reshape(-1)
    return y.reshape(x.shape), inv_rms.reshape(x.shape[:axis])


def normalize(op: Operator, x: Tensor) -> Tensor:
    return x / x.square().sum(op.args.get("axis", -1), keepdim=True).sqrt()


def channels_first(op: Operator, x: Tensor) -> Tensor:
    """x as (n, channels, pixels)."""
    x = x.movedim(-1, 1) if op.args.get("order") == "NHWC" else x
    return x.flatten(2)


def as_before(op: Operator, y: Tensor, x: Tensor) -> Tensor:
    """What `channels_first` made, in the shape of x again."""
    if op.args.get("order") == "NHWC":
        return y.reshape(x.shape[0], x.shape[-1], *x.shape[1:-1]).movedim(1, -1)
    return y.reshape(x.shape)


def spatial_bn(op: Operator, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> tuple[Tensor, ...]:
    x3, epsilon = channels_first(op, x), op.args.get("epsilon", 1e-5)
    mean, var = mean.detach(), var.detach()
    column = {"training": not flag(op, "is_test"), "eps": epsilon}
    y = as_before(op, F.batch_norm(x3, mean.clone(), var.clone(), scale, bias, **column), x)
    if flag(op, "is_test"):
        return (y,)
    momentum = op.args.get("momentum", 0.9)
    batch_mean, batch_var = x3.mean((0, 2)), x3.var((0, 2), correction=0)
    running_var = momentum * var + (1 - momentum) * x3.var((0, 2), correction=1)
    return y, momentum * mean + (1 - momentum) * batch_mean, running_var, batch_mean, (batch_var + epsilon).rsqrt()


def group_norm(op: Operator, x: Tensor, scale: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    """GroupNorm, and InstanceNorm with a group for each channel."""
    x3, epsilon = channels_first(op, x), op.args.get("epsilon", 1e-5)
    groups = op.args.get("group", 32) if op.type == "GroupNorm" else x3.shape[1]
    y = as_before(op, F.group_norm(x3, groups, scale, bias, epsilon), x)
    flat = x3.reshape(x3.shape[0], groups, -1)
    return (y, flat.mean(2), (flat.var(2, correction=0) + epsilon).rsqrt())[: len(op.outputs)]


def lrn(op: Operator, x: Tensor) -> tuple[Tensor, ...]:
    x3, size = channels_first(op, x), op.args["size"]
    around = F.pad(x3.square(), (0, 0, size // 2, size // 2)).unfold(1, size, 1).sum(-1)
    scale = op.args.get("bias", 1.0) + op.args.get("alpha", 0.0) / size * around
    y = x3 * scale ** -op.args.get("beta", 0.0)
    return (as_before(op, y, x), as_before(op, scale, x))[: len(op.outputs)]


def over(op: Operator, state: Tensor, time: tuple[Tensor, ...]) -> Tensor:
    """Which rows are over, (n, 1), by the lengths, if any, and the timestep."""
    *lengths, timestep = time
    if not lengths:
        return torch.zeros(state.shape[-2], 1, dtype=torch.bool)
    return (lengths[0].reshape(-1, 1) <= timestep.reshape(-1)[0]).detach()


def lstm_unit(op: Operator, h: Tensor, c: Tensor, gates: Tensor, *time: Tensor) -> tuple[Tensor, Tensor]:
    i, f, o, g = gates.chunk(4, -1)
    cell = torch.sigmoid(f + op.args.get("forget_bias", 0.0)) * c + torch.sigmoid(i) * torch.tanh(g)
    hidden, done = torch.sigmoid(o) * torch.tanh(cell), over(op, c, time)
    keep = 0.0 if flag(op, "drop_states") else 1.0
    return torch.where(done, keep * h, hidden), torch.where(done, keep * c, cell)


def gru_unit(op: Operator, h: Tensor, gates: Tensor, *time: Tensor) -> Tensor:
    r, u, o = gates.chunk(3, -1)
    update = torch.sigmoid(u)
    # The reset gate has done its work before; 0 * r ties it to the graph, as the rule gives it zeros.
    new = update * h + (1 - update) * torch.tanh(o) + 0 * r
    return torch.where(over(op, h, time), 0 * h if flag(op, "drop_states") else h, new)


FORMULAS: dict[str, Formula] = {
    "Softmax": softmax,
    "SoftmaxWithLoss": softmax_with_loss,
    "LabelCrossEntropy": label_cross_entropy,
    "CrossEntropy": cross_entropy,
    "SigmoidCrossEntropyWithLogits": logits_loss,
    "WeightedSigmoidCrossEntropyWithLogits": logits_loss,
    "BernoulliJSD": bernoulli_jsd,
    "MakeTwoClass": lambda op, x: torch.stack([1 - x, x], -1),
    "CosineEmbeddingCriterion": cosine_embedding,
    "MarginRankingCriterion": margin_ranking,
    "PairWiseLoss": pair_loss,
    "Accuracy": accuracy,
    "LayerNorm": layer_norm,
    "RMSNorm": rms_norm,
    "Normalize": normalize,
    "SpatialBN": spatial_bn,
    "InstanceNorm": group_norm,
    "GroupNorm": group_norm,
    "LRN": lrn,
    "LSTMUnit": lstm_unit,
    "GRUUnit": gru_unit,
}
