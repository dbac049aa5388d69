"""How what is computed loses its gradient: the kinds of cuts that a call can make, and what is said of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....program.code_line import line_at
from ....program.errors import code, listed
from ..flow import Seen, Step
from .case import Case, in_line, line_of, where
from .reach import Cut, reads_gradient

COMPARES = {"gt", "lt", "ge", "le", "eq", "ne", "isclose", "greater", "less", "greater_equal", "less_equal", "__eq__"}
CHOOSES = {"argmax", "argmin", "argsort", "multinomial", "searchsorted", "bucketize", "nonzero", "one_hot", "where"}
CASTS = {"to", "long", "int", "short", "byte", "bool", "char", "type", "type_as"}


class Cause(NamedTuple):
    """A kind of cut.

    Attributes:
        kind: of the finding.
        fits: whether a call cuts so.
        says: how it does, after the name of the result.
        ways_out: sentences.
        rank: of several cuts those of the lowest are the cause.
    """

    kind: str
    fits: Callable[[Step, Seen], bool]
    says: str
    ways_out: tuple[str, ...]
    rank: int = 0


def _is_drawn(step: Step) -> bool:
    """Whether a distribution has switched gradients off, to draw from it."""
    return not step.is_tracked and step.switched is not None and ".sample(" in line_at(*step.switched).text


IN_PLACE = "Change it in place: with torch.no_grad(): {name} -= lr * {name}.grad."
GO_ON = "Go on with the tensor itself: numbers and arrays have no history."
OUTSIDE = "Compute it outside of that block."
SWITCHED = "Compute it where they are on: outside of torch.no_grad(), and not after torch.set_grad_enabled(False)."
CAUSES = (
    Cause(
        "no_grad",
        lambda step, result: step.is_in_checkpoint,
        "is computed in a reentrant checkpoint{at}, which is given nothing that requires one, and so cuts it off",
        ("Call checkpoint(..., use_reentrant=False).", "Let an input of the checkpoint require a gradient."),
    ),
    Cause(
        "no_grad",
        lambda step, result: step.is_inference,
        "is computed under torch.inference_mode(){at}",
        (OUTSIDE, "Inference mode is for predictions alone: train without it."),
    ),
    Cause(
        "detached",
        lambda step, result: step.function in ("detach", "detach_"),
        "is cut off by {call}{at}",
        ("Leave detach() out where gradients should go on.",),
    ),
    Cause(
        "detached",
        lambda step, result: step.function in ("data", "data="),
        "is cut off by `.data`{at}",
        ("Leave `.data` out: it gives the elements without their history.",),
    ),
    Cause(
        "no_grad",
        lambda step, result: _is_drawn(step),
        "is drawn by `sample()`{at}, through which no gradient goes",
        (
            "Draw it by rsample(), where the distribution has it: the gradient goes through that.",
            "Else let the loss have the logarithm of its probability: -distribution.log_prob(x) * reward.",
        ),
    ),
    Cause(
        "no_grad",
        lambda step, result: not step.is_tracked and step.switched is None,
        "is computed {how}{at}",
        (SWITCHED,),
    ),
    Cause(
        "no_grad",
        lambda step, result: not step.is_tracked,
        "is computed {how}{at}",
        (OUTSIDE, "If it is not to be trained, say so: parameter.requires_grad_(False)."),
    ),
    Cause(
        "double_backward",
        lambda step, result: step.functions is not None,
        "comes from {call}{at}, which cannot be differentiated again, as the backward of {functions} is",
        ("Write that backward with operations of torch alone, without once_differentiable, numpy and detach().",),
    ),
    Cause(
        "double_backward",
        lambda step, result: step.function == "autograd.grad",
        "comes from {call}{at}, which was not told create_graph=True, and so cannot be differentiated",
        ("Say torch.autograd.grad(..., create_graph=True).",),
    ),
    Cause(
        "detached",
        lambda step, result: step.function in ("tensor", "as_tensor", "asarray", "Parameter", "new_tensor"),
        "is a new tensor that {call} makes of the numbers alone{at}",
        ("Use the tensor itself, or torch.stack(...) of several, not torch.tensor(...).",),
    ),
    Cause(
        "integer",
        lambda step, result: step.function in CHOOSES and not result.is_float,
        "is chosen by {call}{at}, and a choice among indices has no gradient",
        ("Use a smooth stand-in: softmax in place of argmax, gumbel_softmax in place of a sample.",),
    ),
    Cause(
        "integer",
        lambda step, result: step.function in CASTS and not result.is_float,
        "is cast to integers or booleans by {call}{at}, and those have no gradient",
        ("Keep it a floating-point tensor where gradients should pass.",),
    ),
    Cause(
        "integer",
        lambda step, result: step.function in COMPARES,
        "comes from a comparison, {call}{at}, which is true or false and has no gradient",
        ("Use a smooth stand-in, such as torch.sigmoid(k * (a - b)).",),
        1,
    ),
    Cause(
        "integer",
        lambda step, result: not result.is_float,
        "is of integers or booleans, by {call}{at}, and those have no gradient",
        ("Keep it a floating-point tensor where gradients should pass.",),
        1,
    ),
    Cause("detached", lambda step, result: True, "is cut off by {call}{at}, whose result requires no gradient", ()),
)
"""From the first that fits on; the last always does."""


def cause_of(cut: Cut) -> Cause:
    """What kind of cut it is."""
    return next(one for one in CAUSES if one.fits(cut.step, cut.result))


def says_of(case: Case, cause: Cause, cut: Cut) -> str:
    """How a call cuts, after the name of its result."""
    own = cut.step.functions or ()
    functions = listed([f"{code(one.__name__)}{where(line_of(getattr(one, 'backward', None)))}" for one in own])
    at = in_line(case.line(cut.step))
    if is_rebuilt(case, cut):
        return f"was rebuilt from its old value{at}, outside of autograd, and is a plain tensor now"
    switch = case.line(cut.step.switched)
    if switch is None:
        how = "while gradients are switched off, since before the capture,"
    else:
        is_set = "set_grad_enabled" in switch.text
        how = "while torch.set_grad_enabled(False) holds" if is_set else "under torch.no_grad()"
    return cause.says.format(call=called_by(cut.step), at=at, functions=functions or "an operator on the way", how=how)


def is_rebuilt(case: Case, cut: Cut) -> bool:
    """Whether a variable was replaced by what was computed from it and its gradient."""
    name = case.name_seen(cut.result)
    return bool(name) and name == case.name_seen(cut.carrier) and reads_gradient(case.steps, cut.step)


def called_by(step: Step) -> str:
    """The function that a call calls, in words."""
    name = DUNDERS.get(step.function, step.function)
    return code(f"{name}()" if name.isidentifier() else name)


DUNDERS = {"__float__": "float", "__int__": "int", "__array__": "numpy", "__complex__": "complex"}
