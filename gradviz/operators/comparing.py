"""Questions about elements (GT, EQ, And, IsNaN ...), and choices by their answers: Where and Conditional.

Comparisons have no gradient rule: their outputs are truth values.
"""

from collections.abc import Callable

import numpy as np

from ..program import Operator
from .broadcasting import ARGS, pair, y_along
from .gradients import Steps, gradient_of
from .inference import by_rows, described, like_forward, misfit, same_shape, slot
from .registry import Array, ArraySpec, Gradients, Inference, RuleAnswer, operator, register_gradient

BOOL = np.dtype(np.bool_)


def compared(op: Operator, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    """Inference of comparisons, whose inputs broadcast as those of Add."""
    return ArraySpec(pair(op, x, y).shape, BOOL)


def need_truths(op: Operator, spec: ArraySpec, position: int) -> None:
    """Raise unless input `position` is of truth values."""
    if spec.dtype != BOOL:
        raise misfit(
            f"{slot(op, position)} must be of truth values, got {described(spec)}.", "Convert it: array.astype(bool)."
        )


def logic_spec(op: Operator, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    need_truths(op, x, 0)
    need_truths(op, y, 1)
    return pair(op, x, y)


def element_by_element(
    type: str, sign: str, asked: str, function: Callable[[Array, Array], Array], infer: Inference
) -> None:
    """Define an operator that answers what is `asked` of the elements of two arrays that broadcast."""

    def kernel(op: Operator, x: Array, y: Array) -> Array:
        return function(x, y_along(op, x, y))

    kernel.__doc__ = f"{asked}, element by element."
    operator(type, "x, y -> z", f"z = {sign}", infer=infer, args=ARGS)(kernel)


element_by_element("GT", "x > y", "Whether x is greater than y", np.greater, compared)
element_by_element("GE", "x ≥ y", "Whether x is at least y", np.greater_equal, compared)
element_by_element("LT", "x < y", "Whether x is less than y", np.less, compared)
element_by_element("LE", "x ≤ y", "Whether x is at most y", np.less_equal, compared)
element_by_element("EQ", "(x = y)", "Whether x equals y", np.equal, compared)
element_by_element("NE", "x ≠ y", "Whether x differs from y", np.not_equal, compared)
element_by_element("And", "x ∧ y", "Whether both hold", np.logical_and, logic_spec)
element_by_element("Or", "x ∨ y", "Whether one or both hold", np.logical_or, logic_spec)
element_by_element("Xor", "x ⊻ y", "Whether exactly one holds", np.logical_xor, logic_spec)


def not_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_truths(op, x, 0)
    return x


@operator("Not", "x -> y", "y = ¬x", infer=not_spec)
def not_(op: Operator, x: Array) -> Array:
    """Whether each element does not hold."""
    return np.logical_not(x)


@operator("IsNaN", "x -> y", "y = (x is nan)", infer=lambda op, x: ArraySpec(x.shape, BOOL))
def is_nan(op: Operator, x: Array) -> Array:
    """Whether each element is nan."""
    return np.isnan(x)


def is_by_rows(op: Operator) -> bool:
    """Whether a condition has one truth value for each row, not for each element."""
    return op.type == "Conditional" or bool(op.args.get("broadcast_on_rows", 0))


def where_spec(op: Operator, condition: ArraySpec, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    spec = same_shape(op, x, y)
    need_truths(op, condition, 0)
    rows = is_by_rows(op)
    wanted = x.shape[:1] if rows else x.shape
    if condition.shape != wanted or (rows and not x.shape):
        each = "row" if rows else "element"
        raise misfit(f"the condition needs one truth value for each {each} of {x.shape}; got {condition.shape}.")
    return spec


def conditions(op: Operator, condition: Array, like: Array) -> Array:
    """The condition where it broadcasts against `like`."""
    return by_rows(condition, like) if is_by_rows(op) else condition


@operator(
    "Conditional",
    "condition, x, y -> z",
    "zᵢ = xᵢ where conditionᵢ, else yᵢ",
    "0: no gradient passes here",
    infer=where_spec,
    constant=True,
    doc="Each row from x or y, a constant for the gradient; Where with `broadcast_on_rows` lets it pass.",
)
@operator(
    "Where",
    "condition, x, y -> z",
    "z = x where condition, else y",
    "dx = dz where condition, else 0; dy = 0 where condition, else dz",
    infer=where_spec,
    args={"broadcast_on_rows": 0},
)
def where(op: Operator, condition: Array, x: Array, y: Array) -> Array:
    """Each element from x or y. x, y: one shape; condition: like them, or with `broadcast_on_rows` (n,)."""
    return np.where(conditions(op, condition, x), x, y)


@gradient_of(
    "Where",
    "condition, dz -> dx, dy",
    "∂dz = ∂dx where condition, else ∂dy",
    infer=like_forward("dz", integers="condition dz", x="dz", y="dz"),
)
def where_gradient(op: Operator, condition: Array, dz: Array) -> tuple[Array, Array]:
    """Gradients of Where: each element of dz goes to the side that it was taken from."""
    from_x = conditions(op, condition, dz)
    zero = dz.dtype.type(0)
    return np.where(from_x, dz, zero), np.where(from_x, zero, dz)


@register_gradient("WhereGradient")
def where_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (condition, dz) = Steps(op), op.inputs
    return do.answer(None, do("Where", condition, *do.or_zeros(g_output, [dz, dz]), **op.args))
