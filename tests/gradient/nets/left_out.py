"""Nets that gradviz is known to get wrong, and which are not drawn until it is right: delete a line to see how.

Each is a fault of `gradviz.gradient`, which has the names of blobs where it should have their versions or slots. One
more is left out in `row_calls.gather`: sparse gradients by indices of two dimensions cannot be added to others.
"""

from collections.abc import Container, Sequence

from gradviz.program import Operator

CONSTANT_SLOTS: dict[str, Sequence[int]] = {
    "BernoulliJSD": (1,),
    "CopyOnDeviceLike": (1,),
    "CrossEntropy": (1,),
    "LengthsWeightedSum": (1,),
    "MatMul": (2,),
    "PairWiseLoss": (1,),
    "ResizeLike": (1,),
    "SigmoidCrossEntropyWithLogits": (1,),
    "SparseLengthsWeightedSum": (1,),
    "SparseToDense": (2,),
    "SpatialBN": (3, 4),
    "SquareRootDivide": (1,),
    "WeightedSigmoidCrossEntropyWithLogits": (1, 2),
    "WeightedSum": (1, 3, 5),
}
"""Floating-point inputs without a gradient, or without one unless an argument asks for it."""


def is_left_out(op: Operator) -> bool:
    """Whether gradviz differentiates `op` wrongly.

    ``CrossEntropy(x, x)``: the map has no gradient of x, because its second slot has none.
    """
    constant = {op.inputs[slot] for slot in CONSTANT_SLOTS.get(op.type, ()) if slot < len(op.inputs)}
    return any(op.inputs.count(name) > 1 for name in constant)


def is_given_wrongly(gradient: str, y: str, overwritten: Container[str]) -> bool:
    """Whether `gradient`, given for `y`, is a blob that gradviz reads or writes wrongly.

    ``y = Mul(x, w); w = Tanh(v)`` from ``{"y": "w"}``: for its first version w is taken for the gradient of y.
    ``x = Tanh(x)`` from ``{"x": "x_grad"}``: the gradient of the first x is written over the one that was given.
    ``x = ConstantFill(x); z = Tanh(v)`` from ``{"x": "v_grad", "z": None}``: so is that of v.
    """
    return gradient in overwritten or ("_grad" in gradient and y in overwritten)


def needs_ones(y: str, skip: int, overwritten: Container[str]) -> bool:
    """``x = StopGradient(x); z = Tanh(x)`` from ``{"x": "given", "z": None}`` without the first operator: what is given
    for x is lost."""
    return bool(skip) and y in overwritten
