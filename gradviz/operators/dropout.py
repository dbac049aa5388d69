"""Dropout: a random part of the elements becomes 0, and a mask tells the gradient which."""

from typing import Any

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument
from .comparing import BOOL
from .gradients import by, op_gradient
from .inference import described, misfit, need_floats
from .randomness import SEED_ARGS, uniform
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient

DROPOUT_ARGS: dict[str, Any] = {"ratio": 0.5, "is_test": 0, **SEED_ARGS}


def keep_probability(op: Operator) -> float:
    """The part of the elements that stays."""
    ratio = op.args.get("ratio", 0.5)
    if not 0 <= ratio < 1:
        raise bad_argument(op, "ratio", "must be at least 0 and below 1", "Leave it out for its default, 0.5.")
    return float(1 - ratio)


def without_mask() -> RunError:
    """The error for a Dropout in training that writes no mask."""
    return misfit("its gradient needs to know what was dropped.", "Give it a second output for the mask.")


def dropout_spec(op: Operator, x: ArraySpec) -> ArraySpec | tuple[ArraySpec, ArraySpec]:
    """Inference of Dropout; only with `is_test` the mask may be left out."""
    need_floats(op, (x,))
    keep_probability(op)
    if len(op.outputs) > 1:
        return x, ArraySpec(x.shape, BOOL)
    if not op.args.get("is_test", 0):
        raise without_mask()
    return x


@operator(
    "Dropout",
    "x -> y, mask?",
    "y = x · mask / (1 - ratio); with is_test y = x",
    "dx = dy · mask / (1 - ratio); with is_test dx = dy",
    infer=dropout_spec,
    args=DROPOUT_ARGS,
)
def dropout(op: Operator, x: Array) -> Array | tuple[Array, Array]:
    """A part `ratio` of the elements becomes 0, the others grow so that the mean stays. mask: where x was kept, bool.

    What is dropped is the same at every run: a function of the argument `seed` (default 0) and of the name of y.
    Source: Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, Dropout (2014).
    """
    if op.args.get("is_test", 0):
        return (x, np.ones_like(x, BOOL)) if len(op.outputs) > 1 else x
    keep = keep_probability(op)
    mask = uniform(op, x.shape, x) < keep
    return x * mask * (1 / keep), mask


def dropout_grad_spec(op: Operator, dy: ArraySpec, mask: ArraySpec | None = None) -> ArraySpec:
    need_floats(op, (dy,))
    if mask is not None and mask != ArraySpec(dy.shape, BOOL):
        raise misfit(f"mask must be bool {dy.shape}, got {described(mask)}.")
    return dy


@operator(
    "DropoutGrad",
    "dy, mask? -> dx",
    "dx = dy · mask / (1 - ratio); with is_test dx = dy",
    "∂dy = ∂dx · mask / (1 - ratio); with is_test ∂dy = ∂dx",
    infer=dropout_grad_spec,
    args=DROPOUT_ARGS,
    rule=by("DropoutGrad", "∂dx, mask -> ∂dy"),
)
def dropout_grad(op: Operator, dy: Array, mask: Array | None = None) -> Array:
    """Gradient of Dropout."""
    return dy if mask is None or op.args.get("is_test", 0) else dy * mask * (1 / keep_probability(op))


@register_gradient("Dropout")
def dropout_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Without a gradient of y there is none: the mask is no place for one."""
    if op.args.get("is_test", 0):
        return op_gradient(op, [g_output[0]], type="DropoutGrad")
    if len(op.outputs) < 2:
        raise without_mask()
    return op_gradient(op, [g_output[0], op.outputs[1]], type="DropoutGrad")
