"""Bernoulli distributions: the Jensen-Shannon divergence of two, and both probabilities of each.

Targets are constants for the gradient.
"""

import numpy as np

from ..program import Operator
from .gradients import Steps, gradient_of
from .inference import described, elementwise, misfit, need_floats
from .loss import FLOOR
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient


def entropy(p: Array) -> Array:
    """-p ln p - (1 - p) ln(1 - p); 0 where p is 0 or 1."""
    return -p * np.log(np.maximum(p, FLOOR)) - (1 - p) * np.log(np.maximum(1 - p, FLOOR))


@operator(
    "BernoulliJSD",
    "x, targets -> y",
    formula="y = H((x + targets) / 2) - (H(x) + H(targets)) / 2, H(p) = -p ln p - (1 - p) ln(1 - p)",
    derivative="dx = dy (logit x - logit((x + targets) / 2)) / 2, logit p = ln(p / (1 - p))",
    infer=elementwise,
)
def bernoulli_jsd(op: Operator, x: Array, targets: Array) -> Array:
    """Jensen-Shannon divergence of coins that fall with probability x from coins with probability t, for each element.

    Source: Lin, Divergence measures based on the Shannon entropy (1991).
    """
    return entropy((x + targets) / 2) - (entropy(x) + entropy(targets)) / 2


def logit(p: Array) -> Array:
    """ln(p / (1 - p)), finite at 0 and 1."""
    return np.log(np.maximum(p, FLOOR)) - np.log(np.maximum(1 - p, FLOOR))


@gradient_of(
    "BernoulliJSD",
    "dy, x, targets -> dx",
    derivative="∂dy = ∂dx (logit x - logit m) / 2, ∂x = ∂dx dy (logit' x - ½ logit' m) / 2, m = (x + targets) / 2, "
    "logit' p = 1 / p + 1 / (1 - p)",
)
def bernoulli_jsd_gradient(op: Operator, dy: Array, x: Array, targets: Array) -> Array:
    return dy * (logit(x) - logit((x + targets) / 2)) / 2


def logit_slope(p: Array) -> Array:
    """The derivative of `logit`, 0 for a half of it that is held at the floor."""
    return sum(np.where(q < FLOOR, 0, 1 / np.maximum(q, FLOOR)) for q in (p, 1 - p))


@gradient_of(
    "BernoulliJSDGradient",
    "dy, x, targets, ∂dx -> ∂dy, ∂x",
    infer=lambda op, *specs: (elementwise(op, *specs[1:]), elementwise(op, *specs)),
)
def bernoulli_jsd_gradient_gradient(
    op: Operator, dy: Array, x: Array, targets: Array, g_dx: Array
) -> tuple[Array, Array]:
    bend = logit_slope(x) - logit_slope((x + targets) / 2) / 2
    return bernoulli_jsd_gradient(op, g_dx, x, targets), dy * g_dx * bend / 2


def two_class_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    need_floats(op, (x,))
    return ArraySpec((*x.shape, 2), x.dtype)


@operator(
    "MakeTwoClass", "x -> y", formula="y = [1 - x, x]", derivative="dx = dy[..., 1] - dy[..., 0]", infer=two_class_spec
)
def make_two_class(op: Operator, x: Array) -> Array:
    """Both probabilities of each coin, side by side. x: (...) -> y: (..., 2)."""
    return np.stack([1 - x, x], axis=-1)


def two_class_gradient_spec(op: Operator, dy: ArraySpec) -> ArraySpec:
    need_floats(op, (dy,))
    if dy.shape[-1:] != (2,):
        raise misfit(f"dy must have 2 columns, got {described(dy)}.")
    return ArraySpec(dy.shape[:-1], dy.dtype)


@gradient_of("MakeTwoClass", "dy -> dx", derivative="∂dy = [-∂dx, ∂dx]", infer=two_class_gradient_spec)
def make_two_class_gradient(op: Operator, dy: Array) -> Array:
    return dy[..., 1] - dy[..., 0]


@register_gradient("MakeTwoClassGradient")
def make_two_class_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, g_dx = Steps(op), g_output[0]
    g_dy, _ = do.several(2, "Concat", do("Negative", g_dx), g_dx, axis=-1, add_axis=1)
    return do.answer(g_dy)
