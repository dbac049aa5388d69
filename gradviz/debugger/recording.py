"""Recording: everything that happened while a backward pass was generated and run, kept for looking at."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from ..gradient import IR, Ys
from ..operators.registry import Array
from ..program import GradientError, GradientSlice, GradvizError, NetDef, NetError, Operator, RunError
from ..program.collection import uncollected
from ..program.events import Event, Failed, Ran
from ..program.ssa import Ssa, number
from ..runtime import Workspace
from ..runtime.executor import plan, run_step

BlobVersion = tuple[str, int]


class Recording:
    """What happened, in order, and the value of every blob version. Immutable once made.

    Attributes:
        net: the forward net.
        ys: what was differentiated, as asked.
        skip: how many leading operators took no part.
        operators: the whole program: the forward operators, then the gradient operators.
        events: what happened, first to last; a last event `Failed` says that and why it stopped.
        values: (name, version) -> read-only array of everything that was fed or computed. Not there: not computed.
        missing: blobs that were not fed, so that nothing was executed; empty when it was, or no workspace was given.
    """

    def __init__(
        self,
        net: NetDef,
        ys: Ys,
        skip: int,
        operators: Sequence[Operator],
        events: Sequence[Event],
        values: dict[BlobVersion, Array],
        missing: Sequence[str] = (),
    ) -> None:
        self.net = net
        self.ys = ys
        self.skip = skip
        self.operators = tuple(operators)
        self.events = tuple(events)
        self.values = values
        self.missing = tuple(missing)


def record(net: NetDef, ys: Ys, *, workspace: Workspace | None = None, skip: int = 0) -> Recording:
    """Generate the backward pass of `ys` and, where the net's inputs are fed, run it all; keep what happens.

    Neither `net` nor `workspace` is changed.

    Raises:
        NetError: `net` is no net.
        GradientError: ``bad_ys``, ``bad_skip``, ``bad_net``, ``orphan_stop_gradient``: there is nothing to record. A
            fault met on the way is recorded as the last event, `Failed`.
        RunError: ``bad_value`` when a given gradient holds a NaN.
    """
    _check_arguments(net, ys, workspace)
    net = net.copy()
    ir = IR(net.ops, skip)
    if workspace is not None:
        _check_seeds(ys, workspace)
    events: list[Event] = []
    try:
        with uncollected():
            for event in ir.backward_events(ys):
                events.append(event)
    except GradvizError as error:
        if not events:
            raise
        events.append(_failed(error))
    operators = [*net.ops, *ir.gradient_ops]
    missing = _missing(operators, workspace)
    values: dict[BlobVersion, Array] = {}
    if workspace is not None and not missing and not isinstance(events[-1], Failed):
        _run(operators, workspace, events, values)
    return Recording(net, ys, skip, operators, events, values, missing)


def _check_arguments(net: object, ys: object, workspace: object) -> None:
    if not isinstance(net, NetDef):
        raise NetError(
            f"There is no net to debug in {net!r}.",
            kind="bad_net",
            ways_out=["Give a gradviz.Net as the first argument."],
        )
    if workspace is not None and not isinstance(workspace, Workspace):
        raise RunError(
            f"A workspace must be a gradviz.Workspace, not {type(workspace).__name__}.",
            kind="bad_value",
            ways_out=["ws = gradviz.Workspace(); ws.feed(name, array) for each input."],
        )
    if isinstance(ys, list | dict) and not ys:
        raise GradientError(
            "ys is empty: there is nothing to differentiate.", kind="bad_ys", ways_out=['Write ["loss"].']
        )


def _run(
    operators: list[Operator], workspace: Workspace, events: list[Event], values: dict[BlobVersion, Array]
) -> None:
    """Run `operators` on the blobs of `workspace`, a `Ran` event each; every version of every blob goes to `values`."""
    blobs = {name: workspace[name] for name in workspace}
    try:
        ready = plan(operators, blobs)
        values.update({(name, 0): blobs[name] for name in ready.external})
        with np.errstate(all="ignore"):
            for position, (step, ssa) in enumerate(zip(ready.steps, number(operators), strict=True)):
                start = perf_counter()
                run_step(step, blobs)
                seconds = perf_counter() - start
                for name, version in zip(ssa.op.outputs, ssa.out_versions, strict=True):
                    values[name, version] = blobs[name]
                events.append(_ran(position, ssa, str(workspace.device), seconds))
    except GradvizError as error:
        events.append(_failed(error))


def _ran(position: int, ssa: Ssa, device: str, seconds: float) -> Ran:
    return Ran(position, ssa.op, ssa.in_versions, ssa.out_versions, device, seconds)


def _failed(error: GradvizError) -> Failed:
    return Failed(error.kind, error.message, error.explain(), error.operator_index, list(error.blobs))


def _missing(operators: Sequence[Operator], workspace: Workspace | None) -> list[str]:
    """What `operators` read and neither write before nor find in `workspace`."""
    if workspace is None:
        return []
    written: set[str] = set()
    missing: dict[str, None] = {}
    for op in operators:
        missing.update({name: None for name in op.inputs if name not in written and name not in workspace})
        written.update(op.outputs)
    return list(missing)


def _check_seeds(ys: Ys, workspace: Workspace) -> None:
    if not isinstance(ys, dict):
        return
    for y, gradient in ys.items():
        name = gradient.values if isinstance(gradient, GradientSlice) else gradient
        if not isinstance(name, str) or name not in workspace:
            continue
        array = workspace[name]
        if array.dtype.kind in "fc" and np.isnan(array).any():
            raise RunError(
                f"The gradient {name} given for {y} holds {int(np.isnan(array).sum())} NaN of {array.size} elements: "
                "every gradient would become NaN.",
                kind="bad_value",
                blobs=[name, y],
                ways_out=[f"Feed {name} again without NaN.", f"Give None for {y} to start from ones."],
            )
