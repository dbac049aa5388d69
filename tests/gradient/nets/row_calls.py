"""Calls of operators on rows and of layers, drawn to fit the blobs of a draft."""

import math

import numpy as np

from .call import Call, Shape
from .pick import Pick
from .shape_calls import has_dims, image


def table(pick: Pick) -> str:
    """Rows to read by number: often those that others read too."""

    def has_rows(shape: Shape) -> bool:
        return 1 <= len(shape) <= 2 and shape[0] >= 2

    shared = pick.favourite(has_rows)
    return shared if shared is not None and pick.chance(0.5) else pick.floats(has_rows)


def gather(pick: Pick) -> Call:
    x = table(pick)
    rows = pick.shape(x)[0]
    if pick.chance(0.15):
        # Of two dimensions only where the gradient is dense: sparse ones cannot be added to others.
        shape = pick.one_of(((3,), (2, 2)))
        return Call("Gather", [x, pick.integers(shape, rows)], {"dense_gradient": 1})
    return Call("Gather", [x, pick.integers((pick.random.randint(1, 4),), rows)])


def batch_gather(pick: Pick) -> Call:
    x = pick.floats(has_dims(2, 3))
    return Call("BatchGather", [x, pick.integers((pick.random.randint(1, 3),), pick.shape(x)[1])])


def sparse_lengths(pick: Pick) -> Call:
    x, count = table(pick), pick.random.randint(2, 5)
    indices = pick.integers((count,), pick.shape(x)[0])
    type = pick.one_of(("Sum", "Mean", "WeightedSum"))
    if type != "WeightedSum":
        return Call(f"SparseLengths{type}", [x, indices, pick.lengths(count)])
    args = {"grad_on_weights": 1} if pick.chance(0.5) else {}
    return Call("SparseLengthsWeightedSum", [x, pick.floats((count,)), indices, pick.lengths(count)], args)


def ids(pick: Pick, count: int, *, is_sorted: bool) -> str:
    """A segment for each of `count` rows."""
    if not is_sorted:
        return pick.integers((count,), 3)
    numbers = [0]
    for _ in range(count - 1):
        numbers.append(numbers[-1] + pick.random.randint(0, 1))
    return pick.list_of(numbers, lambda said: len(said) == count and climbs(said))


def climbs(numbers: list[int]) -> bool:
    """Whether numbers count up from 0 without gaps."""
    steps = [after - before for before, after in zip([0, *numbers], numbers, strict=False)]
    return bool(numbers) and numbers[0] == 0 and all(0 <= step <= 1 for step in steps)


def segments(pick: Pick) -> Call:
    """Sums and means by segment ids, of a table's rows or of all rows."""
    order, name = pick.one_of(("Sorted", "Unsorted")), pick.one_of(("Sum", "Mean"))
    args = {"num_segments": 4} if order == "Unsorted" and pick.chance(0.5) else {}
    if pick.chance(0.6):
        x, count = table(pick), pick.random.randint(2, 4)
        lists = [pick.integers((count,), pick.shape(x)[0]), ids(pick, count, is_sorted=order == "Sorted")]
        return Call(f"Sparse{order}Segment{name}", [x, *lists], args)
    x = pick.floats(has_dims(1, 2))
    return Call(f"{order}Segment{name}", [x, ids(pick, pick.shape(x)[0], is_sorted=order == "Sorted")], args)


def lengths(pick: Pick) -> Call:
    x = pick.floats(has_dims(1, 2))
    rows = pick.shape(x)[0]
    type = pick.one_of(("LengthsSum", "LengthsMean", "LengthsMax", "LengthsWeightedSum", "LengthsTile"))
    if type == "LengthsTile":
        return Call(type, [x, pick.integers((rows,), 3)])
    if type != "LengthsWeightedSum":
        return Call(type, [x, pick.lengths(rows)])
    args = {"grad_on_weights": 1} if pick.chance(0.5) else {}
    return Call(type, [x, pick.floats((rows,)), pick.lengths(rows)], args)


def sparse_to_dense(pick: Pick) -> Call:
    values = pick.floats(has_dims(1, 2))
    indices = pick.integers((pick.shape(values)[0],), 3)
    if pick.chance(0.5):
        return Call("SparseToDense", [indices, values, pick.floats(lambda shape: shape[:1] == (3,))])
    return Call("SparseToDense", [indices, values], {"output_first_dim": 3} if pick.chance(0.5) else {})


def scatter_assign(pick: Pick) -> Call:
    x = table(pick)
    return Call("ScatterAssign", [x, pick.list_of(range(2)), pick.floats((2, *pick.shape(x)[1:]))])


def picked_out(pick: Pick) -> Call:
    type = pick.one_of(("TopK", "TopK", "BooleanMask", "Unique"))
    if type == "Unique":
        return Call(type, [pick.integers((4,), 4)], outputs=pick.random.randint(1, 2))
    x = pick.floats(has_dims(1, 3))
    shape = pick.shape(x)
    if type == "BooleanMask":
        return Call(type, [x, pick.truths(shape[:1])], outputs=pick.random.randint(1, 2))
    args = {"k": pick.random.randint(1, shape[-1])}
    if pick.chance(0.3):
        args = {"k": pick.random.randint(1, shape[0]), "axis": 0}
    return Call(type, [x], args, outputs=pick.random.randint(2, 3))


def two_arrays(pick: Pick) -> Call:
    type = pick.one_of(("DotProduct", "SquaredL2Distance", "L1Distance", "CosineSimilarity"))
    x = pick.floats(has_dims(1, 3))
    return Call(type, [x, x if pick.chance(0.1) else pick.floats(pick.shape(x))])


def square_root_divide(pick: Pick) -> Call:
    x = pick.floats(has_dims(1, 2))
    return Call("SquareRootDivide", [x, pick.floats(pick.shape(x)[:1], within=(0.1, 60.0))])


def softmax(pick: Pick) -> Call:
    x = pick.floats(has_dims(2, 3))
    return Call("Softmax", [x], {"axis": pick.one_of((2, -1))} if len(pick.shape(x)) == 3 and pick.chance(0.5) else {})


def normalization(pick: Pick) -> Call:
    type = pick.one_of(("LayerNorm", "LayerNorm", "RMSNorm", "Normalize"))
    x = pick.floats(has_dims(2, 3))
    shape, args = pick.shape(x), {}
    if type == "Normalize":
        return Call(type, [x], {"axis": pick.one_of((0, 1))} if pick.chance(0.4) else {})
    axis = 2 if len(shape) == 3 and pick.chance(0.4) else 1
    args = {"axis": axis} if axis == 2 else {}
    affine = [pick.floats((math.prod(shape[axis:]),)) for _ in range(2)]
    if type == "RMSNorm":
        return Call(type, [x, *affine], args, outputs=2)
    if pick.chance(0.4):
        return Call(type, [x, *affine], {**args, "elementwise_affine": 1}, outputs=3)
    return Call(type, [x], args, outputs=3)


def channels(pick: Pick) -> Call:
    """Normalization by channel."""
    type = pick.one_of(("SpatialBN", "GroupNorm", "InstanceNorm", "LRN"))
    x = image(pick, 2, 2, 2, 2) if type == "LRN" or pick.chance(0.3) else pick.floats(has_dims(3, 3))
    shape = pick.shape(x)
    args: dict[str, object] = {"order": "NHWC"} if pick.chance(0.3) else {}
    count = shape[-1 if args else 1]
    if type == "LRN":
        numbers = {"size": 3, "alpha": 0.5, "beta": 0.75, "bias": 2.0}
        return Call(type, [x], {**args, **numbers}, outputs=pick.random.randint(1, 2))
    scale, bias = pick.floats((count,)), pick.floats((count,))
    if type == "GroupNorm":
        return Call(type, [x, scale, bias], {**args, "group": 2 if count % 2 == 0 else 1}, outputs=3)
    if type == "InstanceNorm":
        return Call(type, [x, scale, bias], args, outputs=pick.one_of((1, 3)))
    mean, variance = pick.floats((count,)), pick.floats((count,), within=(0.1, 60.0))
    reads = [x, scale, bias, mean, variance]
    return Call(type, reads, {**args, "is_test": 1}) if pick.chance(0.5) else Call(type, reads, args, outputs=5)


def softmax_with_loss(pick: Pick) -> Call:
    x = pick.floats(has_dims(2, 2))
    rows, classes = pick.shape(x)
    args = {"scale": 1.5} if pick.chance(0.3) else {}
    if pick.chance(0.2):
        shares = np.array([[pick.random.uniform(0.1, 1.0) for _ in range(classes)] for _ in range(rows)])
        labels = pick.feed(shares / shares.sum(axis=1, keepdims=True), "x")
        args["label_prob"] = 1
    else:
        labels = pick.integers((rows,), classes)
    if not pick.chance(0.3):
        return Call("SoftmaxWithLoss", [x, labels], args, outputs=2)
    weights = pick.floats((rows,), within=(0.1, 5.0))
    return Call("SoftmaxWithLoss", [x, labels, weights], args, outputs=2)


def probability_loss(pick: Pick) -> Call:
    """Losses of probabilities."""
    type = pick.one_of(("LabelCrossEntropy", "CrossEntropy", "BernoulliJSD", "MakeTwoClass"))
    x = pick.floats(has_dims(1, 2), within=(0.05, 0.95))
    shape = pick.shape(x)
    if type == "MakeTwoClass":
        return Call(type, [x])
    if type == "LabelCrossEntropy":
        rows, classes = shape if len(shape) == 2 else (1, *shape)
        return Call(type, [x, pick.integers((rows,), classes)])
    return Call(type, [x, pick.floats(shape, within=(0.05, 0.95))])


def logits_loss(pick: Pick) -> Call:
    type = pick.one_of(("SigmoidCrossEntropyWithLogits", "SigmoidCrossEntropyWithLogits", "Weighted"))
    x = pick.floats(has_dims(1, 3))
    constants = [pick.floats(pick.shape(x), within=(0.05, 0.95))]
    if type == "Weighted":
        constants.append(pick.floats(pick.shape(x)))
        type = "WeightedSigmoidCrossEntropyWithLogits"
    args = {} if len(constants) > 1 else pick.one_of(({}, {}, {"log_D_trick": 1}, {"unjoined_lr_loss": 1}))
    return Call(type, [x, *constants], args)


def ranking_loss(pick: Pick) -> Call:
    type = pick.one_of(("CosineEmbeddingCriterion", "MarginRankingCriterion", "PairWiseLoss", "Accuracy"))
    if type == "Accuracy":
        x = pick.floats(has_dims(2, 2))
        rows, classes = pick.shape(x)
        return Call(type, [x, pick.integers((rows,), classes)], {"top_k": pick.random.randint(1, min(2, classes))})
    x = pick.floats(has_dims(1, 1))
    shape = pick.shape(x)
    if type == "PairWiseLoss":
        return Call(type, [x, pick.floats(shape), *([pick.lengths(shape[0])] if pick.chance(0.3) else [])])
    signs = pick.feed(np.array([pick.one_of((1, -1)) for _ in range(shape[0])]), "i")
    others = [pick.floats(shape)] if type == "MarginRankingCriterion" else []
    return Call(type, [x, *others, signs], {"margin": 0.3} if pick.chance(0.5) else {})


def recurrent_unit(pick: Pick) -> Call:
    type = pick.one_of(("LSTMUnit", "GRUUnit"))
    states = [pick.floats((1, 2, 2)) for _ in range(2 if type == "LSTMUnit" else 1)]
    gates = pick.floats((1, 2, 8 if type == "LSTMUnit" else 6))
    args = {"drop_states": 1} if pick.chance(0.3) else {}
    time = [pick.integers((1,), 3)]
    if pick.chance(0.7):
        time.insert(0, pick.integers((2,), 4, 1))
    else:
        args["sequence_lengths"] = 0
    return Call(type, [*states, gates, *time], args, outputs=len(states))
