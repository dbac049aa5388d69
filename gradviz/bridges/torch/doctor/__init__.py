"""The doctor: what is wrong with a backward pass of PyTorch, in sentences, and what an error of it means."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any
from weakref import ref

from ....debugger import Cursor
from ....program import GradvizError
from ....program.errors import count_of
from ..capture import Module
from ..frames import users
from ..graph import DISABLED, Tensor, raw_saved_by, refusal_of
from .case import Case
from .damage import freed, overwritten
from .diagnosis import Diagnosis, Finding
from .errors import Rule, findings_of, first_sentence, said_by
from .hooks import hooks
from .losses import along_the_batch, applied_twice, divergence, no_logarithms, stretched
from .no_gradient import frozen, none_sent, parameters_without
from .no_loss import loss_without, no_tensor
from .not_finite import not_finite
from .scene import scene_of
from .sizes import sizes, symmetric
from .structure import computed_once, hidden_modules, parameters_of_a_call, plain_tensors, switched, tied_by_data
from .training import doubled, fails, no_leaves, not_scalar, running, second_derivatives, uncalled
from .updates import emptied, forgotten, late, missed, replaced, still
from .zeros import zeros

__all__ = ["Diagnosis", "Finding", "diagnose", "explain", "findings_of", "first_sentence", "without_gradient"]

RULES: tuple[Rule, ...] = (
    loss_without,
    not_scalar,
    overwritten,
    computed_once,
    freed,
    second_derivatives,
    uncalled,
    fails,
    not_finite,
    no_leaves,
    plain_tensors,
    hidden_modules,
    switched,
    parameters_of_a_call,
    tied_by_data,
    replaced,
    forgotten,
    emptied,
    late,
    missed,
    still,
    running,
    parameters_without,
    none_sent,
    zeros,
    symmetric,
    doubled,
    sizes,
    stretched,
    applied_twice,
    no_logarithms,
    along_the_batch,
    divergence,
    hooks,
    frozen,
)
"""Each looks at a case and yields what it finds, first what keeps a pass from running."""


def diagnose(
    loss: Any, model: Module | Sequence[Module] | None = None, *, debug: Callable[[Any], Cursor] | None = None
) -> Diagnosis:
    """Look for what is wrong with a backward pass, before ``loss.backward()`` or after it.

    Before it, the engine goes backward once, beside the pass of the user: ``grad`` stays as it is. With
    `gradviz.torch.capture` around the forward pass, findings tell lines of code.

    Args:
        loss: the tensor that the pass starts from, or several in a list.
        model: the module, or several, whose parameters are to be trained. None: those that a capture has seen, or that
            variables hold.
        debug: records the pass, as `gradviz.debug`, for `Diagnosis.session`; None: there is no session.

    Raises:
        TypeError: `model` is no module, or there is no loss.
    """
    given: Any = () if model is None else model
    is_one = isinstance(given, Module | str | Tensor) or not isinstance(given, Iterable)
    models: list[Module] = [given] if is_one else list(given)
    for one in models:
        if not isinstance(one, Module):
            raise TypeError(f"diagnose takes a loss and the model, a module; {type(one).__name__} is none.")
    if isinstance(loss, list | tuple) and not loss:
        raise TypeError("diagnose takes a loss, or several in a list; the list is empty.")
    with DISABLED():
        roots = list(loss) if isinstance(loss, list | tuple) else [loss]
        tensors = [one for one in roots if isinstance(one, Tensor)]
        if (refusal := next(filter(None, map(refusal_of, tensors)), None)) is not None:
            return Diagnosis.of(findings_of(refusal) or (), "")
        case = Case(tensors, models, [frame] if (frame := users(sys._getframe(1))) is not None else [])
        if not tensors or len(tensors) < len(roots):
            return Diagnosis.of(no_tensor(case, next(one for one in roots if not isinstance(one, Tensor))), "")
        findings = [one for rule in RULES for one in rule(case)] + _second_pass(case)
        session = partial(_recorded, debug, loss, case.models) if debug is not None and case.notes is not None else None
        return Diagnosis.of(findings, f"Nothing is wrong: {_looked_at(case)}.", session)


def explain(error: BaseException | None = None) -> Diagnosis:
    """What the last error says about gradients, in the words of `diagnose`.

    Args:
        error: None: the last that no code has caught, as in a notebook.

    Raises:
        TypeError: `error` is none.
    """
    if not isinstance(error, BaseException | None):
        what = type(error).__name__
        raise TypeError(f"explain takes an exception, and not {what}: explain() alone explains the last error.")
    error = error or _last_error()
    if error is None:
        return Diagnosis.of((), "There is no error to explain: nothing was raised, or it was caught.")
    with DISABLED():
        findings = findings_of(error)
    if findings is None and isinstance(error, GradvizError):
        return Diagnosis.of((), f"This error is gradviz's own. {error}")
    if findings is None:
        return Diagnosis.of((), f"This is no error about gradients that gradviz knows. {said_by(error)}.")
    return Diagnosis.of(findings, "")


def _last_error() -> BaseException | None:
    """The last that no code has caught."""
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def _second_pass(case: Case) -> list[Finding]:
    """What the error says that the user looks at, if a second pass from the same tensors has ended in it."""
    error = sys.exception() or _last_error() if case.is_over else None
    roots = [] if error is None else scene_of(error).roots
    if error is None or not any(one is root for one in case.roots for root in roots):
        return []
    return [one for one in findings_of(error) or () if one.kind == "freed"]


def without_gradient(
    roots: Sequence[Tensor], models: Sequence[ref[Module]], name: str
) -> tuple[str, tuple[str, ...]] | None:
    """Why a parameter of a model gets no gradient from tensors, and the ways out; None: that is not known.

    Args:
        models: those that are there still; none: those that captures have seen.
    """
    with DISABLED():
        case = Case(roots, [model for one in models if (model := one()) is not None], [])
        findings = (one for rule in (parameters_without, frozen) for one in rule(case))
        return next(((one.sentence, one.ways_out) for one in findings if name in one.names), None)


def _recorded(debug: Callable[[Any], Cursor], loss: Any, models: Iterable[Module]) -> Cursor:
    """The recorded pass; the models are there for their names."""
    return debug(loss)


def _looked_at(case: Case) -> str:
    nodes = case.graph.nodes
    saved = sum(1 for node in nodes for _ in raw_saved_by(node))
    parameters = count_of(len(case.parameters or case.leaves), "parameter" if case.parameters else "leaf")
    operators = count_of(len(nodes), "operator")
    text = f"{parameters}, {operators} and {count_of(saved, 'saved tensor')} were looked at"
    if case.is_over:
        text = f"{parameters} and {operators} were looked at; what these had saved is freed, as after backward(): "
        text += "another one needs retain_graph=True in the first, or the loss computed again"
    return text.replace("leafs", "leaves")
