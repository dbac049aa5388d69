"""Backward passes as people start them: from a Variable to the leaves, or from outputs to chosen inputs."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..program import GradientError
from ..runtime.devices import current, guarded
from . import gradients
from .faults import bad_gradient, bad_schedule, described, named, no_buffers, no_seed
from .function import Function, current_mode, in_mode
from .gradients import HandedOut, dense
from .rank import ADD, Arrived, run_by_rank
from .tape import Sharing, run_by_tape
from .variable import Variable, checked_gradient, plain

SCHEDULES: Mapping[str, Callable[..., Arrived]] = {"rank": run_by_rank, "tape": run_by_tape}
"""The orders in which functions can be run backward."""


def backward(
    root: Variable,
    gradient: Any = None,
    retain_grad: bool = False,
    schedule: str = "rank",
    create_graph: bool = False,
    share_grads: bool = False,
) -> Sharing | None:
    """Compute the gradients of this Variable with regard to every leaf that it depends on, and add them to theirs.

    Args:
        gradient: where to start: an array of the shape and dtype of ``data``. None: the gradient that was set here
            by hand, else 1 where there is one element.
        retain_grad: whether the Variables on the way keep their gradients too; else theirs are dropped.
        schedule: in which order functions are run backward: ``"rank"``, see `gradviz.eager.rank`, or ``"tape"``,
            see `gradviz.eager.tape`. The gradients are the same.
        create_graph: whether gradients are Variables that can be differentiated again.
        share_grads: whether the gradients on the way, of a tape, take turns in shared buffers.

    Returns:
        What sharing has saved, with `share_grads`.

    Raises:
        GradientError: ``missing_output_gradient`` where there is nothing to start with, ``bad_gradient`` for a
            gradient of another shape, dtype or device, ``no_gradient_rule``, ``rule_failed``, ``cycle``,
            ``bad_argument`` for an unknown schedule. Every gradient is then as it was.
    """
    if not isinstance(schedule, str) or schedule not in SCHEDULES:
        raise bad_schedule(schedule, SCHEDULES)
    if share_grads and schedule != "tape":
        raise no_buffers(schedule)
    if not root.requires_grad:
        _warn(f"{named(root)} requires no gradient, nor does anything that it was computed from: none is computed.")
        return None
    if root._creator is not None and root._creator.is_cut:
        _warn(
            f"{named(root)} has been cut off, by unchain, from what it was computed from: nothing else gets a gradient."
        )
    savings: list[Sharing] = []
    run = partial(run_by_tape, tell_sharing=savings.append) if share_grads else SCHEDULES[schedule]
    for x, changed, is_given in changes([(root, gradient)], run, retain_grad, create_graph):
        x._grad, x._grad_is_given = changed, is_given
    return savings[0] if savings else None


class Change(NamedTuple):
    """What a pass makes of ``grad`` of a Variable: `gradient`; `is_given`: by hand, as that of a root can be."""

    x: Variable
    gradient: Any
    is_given: bool = False


def changes(
    roots: Sequence[tuple[Variable, Any]], run: Callable[..., Arrived], retain_grad: bool, create_graph: bool = False
) -> list[Change]:
    """What a pass backward from `roots`, each with the gradient that is given for it, makes of every ``grad``.

    Nothing is changed.

    Args:
        run: a schedule.
    """
    starts = [(y, _start(seed, create_graph)) for y, seed in seeds_of(roots)]
    handed = HandedOut([seed for _, seed in starts], bool(current_mode().hooks))
    keep = {id(y.creator) for y, _ in roots if y.creator is not None} if len(roots) > 1 else ()
    # Numbers that are not finite are there for people to see.
    with np.errstate(all="ignore"), in_mode(records=True) if create_graph else nullcontext():
        arrived = run(starts, create_graph=create_graph, keep=None if retain_grad else keep)
        of_leaves = [Change(x, _added(x, g, handed)) for x, g in arrived.leaves.items() if x.requires_grad]
    given = {y: g is not None or y._grad_is_given for y, g in roots if y.creator is not None}
    met = [x for x in dict.fromkeys(arrived.met) if x not in given]
    of_met = [Change(x, _own_gradient(x, arrived, handed) if retain_grad else None) for x in met]
    seeds = dict(starts)
    of_roots = [
        Change(y, _own_gradient(y, arrived, handed) if keep else seeds[y], is_given) for y, is_given in given.items()
    ]
    return [*of_leaves, *of_met, *of_roots]


def seeds_of(roots: Sequence[tuple[Variable, Any]]) -> list[tuple[Variable, Any]]:
    """Where a pass starts, see `seed_of`; a leaf whose own gradient was set by hand would add it to itself."""
    return [(y, seed_of(y, g)) for y, g in roots if not (y.creator is None and g is None and y._grad_is_given)]


def grad(
    outputs: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    grad_outputs: Any = None,
    create_graph: bool = False,
) -> Any:
    """The gradients of `outputs` with regard to `inputs`; no ``grad`` of any Variable is read or changed.

    Only functions on a way from an output to an input are run backward.

    Args:
        outputs: where to start. The gradients that several bring are added up.
        inputs: leaves, or Variables on the way.
        grad_outputs: for each output an array like its data, or None: 1, for which it must have one element.
        create_graph: whether the gradients are Variables that can be differentiated again.

    Returns:
        For each input an array (a Variable with `create_graph`), or None where no way leads to it; no list where
        `inputs` is one Variable.

    Raises:
        GradientError: as `Variable.backward`; ``bad_argument`` for what is no Variable.

    Example:
        >>> slope = grad(y, x, create_graph=True)
        >>> curvature = grad(slope, x)
    """
    ys, xs = _listed(outputs, "outputs"), _listed(inputs, "inputs")
    given = _gradients_for(ys, [grad_outputs] if isinstance(outputs, Variable) else grad_outputs)
    wanted, keep = set(xs), {id(x.creator) for x in xs if x.creator is not None}
    follow = _towards(wanted, keep, _behind(ys))
    starts = [(y, seed_of(y, g, is_new=True)) for y, g in zip(ys, given, strict=True) if y.requires_grad]
    seeds = [
        (y, _start(seed, create_graph))
        for y, seed in starts
        if (y in wanted if y.creator is None else id(y.creator) in follow)
    ]
    with np.errstate(all="ignore"), in_mode(records=True) if create_graph else nullcontext():
        arrived = run_by_rank(seeds, create_graph=create_graph, keep=keep, follow=follow)
    handed = HandedOut(seen=bool(current_mode().hooks))
    gxs = [_own_gradient(x, arrived, handed) for x in xs]
    return gxs[0] if isinstance(inputs, Variable) else gxs


def unchain_backward(root: Variable) -> None:
    """Forget every function that this Variable depends on; the Variables on the way become leaves."""
    for function in _behind([root]):
        function.cut()


def seed_of(y: Variable, gradient: Any, is_new: bool = False) -> Any:
    """Where a pass starts: the gradient that is given, or was set on `y` by hand (unless `is_new`), or 1.

    Raises:
        GradientError: ``bad_gradient``, ``missing_output_gradient``.
    """
    if gradient is not None:
        return checked_gradient(y, gradient)
    if y._grad_is_given and not is_new:
        return y._grad
    if y.size != 1:
        raise no_seed(y)
    with current(y.device):
        return np.ones_like(y.data)


def _start(seed: Any, create_graph: bool) -> Any:
    """`seed` as passes take it: a Variable with `create_graph`, else an array."""
    if not create_graph:
        return plain(seed)
    return seed if isinstance(seed, Variable) else Variable(guarded(seed), requires_grad=False)


def _added(x: Variable, gradient: Any, handed: HandedOut) -> Any:
    """What the leaf x has of earlier passes, and `gradient`.

    Raises:
        GradientError: ``bad_gradient``, the data of x is of another shape or dtype than it was.
    """
    gradient = dense(gradient, x.shape)
    if gradient.shape != x.shape or gradient.dtype != x.dtype:
        raise bad_gradient(x, f"is {described(plain(gradient))}: x was that when functions read it")
    old = x._grad
    if old is None:
        return handed.own(gradient)
    if isinstance(gradient, Variable):
        return ADD(old, gradient)
    return gradients.add(plain(old), gradient)


def _own_gradient(x: Variable, arrived: Arrived, handed: HandedOut) -> Any:
    """The gradient that x got in this pass, as one of its own; None where it got none."""
    if x.creator is None:
        gradient = arrived.leaves.get(x)
    else:
        gys = arrived.output_gradients.get(id(x.creator), [])
        gradient = gys[x.place] if gys else None
    return None if gradient is None else handed.own(dense(gradient, x.shape))


def _listed(variables: Any, what: str) -> list[Variable]:
    is_one = isinstance(variables, Variable) or not isinstance(variables, Iterable)
    listed = [variables] if is_one else list(variables)
    for x in listed:
        if not isinstance(x, Variable):
            raise GradientError(
                f"{what} of grad must be Variables, not {type(x).__name__}.",
                kind="bad_argument",
                ways_out=["Give one Variable or a list of them."],
            )
    return listed


def _gradients_for(ys: Sequence[Variable], given: Any) -> list[Any]:
    listed = [None] * len(ys) if given is None else list(given)
    if len(listed) != len(ys):
        raise GradientError(
            f"{len(listed)} gradients are given for {len(ys)} outputs.",
            kind="bad_argument",
            ways_out=["Give one for each output, None for 1."],
        )
    return listed


def _behind(ys: Iterable[Variable]) -> list[Function]:
    """Every function that `ys` depend on, in ascending rank."""
    functions: dict[int, Function] = {}
    waiting = [y.creator for y in ys]
    while waiting:
        function = waiting.pop()
        if function is not None and id(function) not in functions:
            functions[id(function)] = function
            waiting += [x.creator for x in function.inputs]
    return sorted(functions.values(), key=lambda function: function.rank)


def _towards(xs: set[Variable], keep: set[int], functions: Iterable[Function]) -> dict[int, int]:
    """The functions, in ascending rank, that lead to `xs` or returned one of them (`keep`), and by which inputs."""
    follow: dict[int, int] = {}
    for function in functions:
        wanted = 0
        for at, x in enumerate(function.inputs):
            if function.wanted >> at & 1 and (x in xs or (x.creator is not None and id(x.creator) in follow)):
                wanted |= 1 << at
        if wanted or id(function) in keep:
            follow[id(function)] = wanted
    return follow


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)
