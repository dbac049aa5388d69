"""Recording: everything that happened while a backward pass was generated and run, kept for looking at."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from ..gradient import IR, Ys
from ..gradient.deduplication import check_aggregator, deduplication_events
from ..operators.registry import Array
from ..program import Device, GradientError, GradvizError, NetDef, NetError, Operator, RunError
from ..program.collection import uncollected
from ..program.events import Aggregator, Event, Failed, Ran, Seeded
from ..program.operator import parts_of
from ..program.ssa import BlobVersion, Ssa, number
from ..runtime import Workspace
from ..runtime.devices import finish
from ..runtime.executor import run_step
from ..runtime.planning import Plan, plan
from .fit import Fit
from .promises import Key


class Recording:
    """What happened, in order, and the value of every blob version. Immutable once made.

    Attributes:
        net: the forward net.
        ys: what was differentiated, as asked.
        skip: how many leading operators took no part.
        deduplicate: how rows of equal index in sparse gradients of the net's inputs were merged; None: they were not.
        operators: the whole program: the forward operators, then the gradient operators.
        events: what happened, first to last; a last event `Failed` says that and why it stopped.
        values: (name, version) -> array of everything that was fed or computed, on the device where it lies; those of
            numpy are read-only. Not there: not computed.
        missing: blobs that were not fed, so that nothing was executed; empty when it was, or no workspace was given.
    """

    def __init__(
        self,
        net: NetDef,
        ys: Ys,
        skip: int,
        operators: Sequence[Operator],
        events: Sequence[Event],
        values: dict[Key, Array],
        missing: Sequence[str] = (),
        deduplicate: Aggregator | None = None,
    ) -> None:
        self.net = net
        self.ys = ys
        self.skip = skip
        self.operators = tuple(operators)
        self.events = tuple(events)
        self.values = values
        self.missing = tuple(missing)
        self.deduplicate = deduplicate


def record(
    net: NetDef,
    ys: Ys,
    *,
    workspace: Workspace | None = None,
    skip: int = 0,
    deduplicate: Aggregator | None = None,
) -> Recording:
    """Generate the backward pass of `ys` and, where the net's inputs are fed, run it all; keep what happens.

    Neither `net` nor `workspace` is changed.

    Args:
        deduplicate: ``"sum"`` or ``"mean"`` to merge, after the pass, the rows of equal index in each sparse gradient
            of an input of the net.

    Raises:
        NetError: `net` is no net, or `deduplicate` neither ``"sum"`` nor ``"mean"``.
        GradientError: ``bad_ys``, ``bad_skip``, ``bad_net``, ``orphan_stop_gradient``: there is nothing to record. A
            fault met on the way is recorded as the last event, `Failed`.
        RunError: ``bad_value`` when a given gradient holds a NaN, ``shape_mismatch`` when it is a slice whose indices
            and values do not belong together.
    """
    _check_arguments(net, ys, workspace)
    if deduplicate is not None:
        check_aggregator(deduplicate)
    net = net.copy()
    ir = IR(net.ops, skip)
    events: list[Event] = []
    try:
        with uncollected():
            for event in ir.backward_events(ys):
                events.append(event)
    except GradvizError as error:
        if not events:
            raise
        events.append(_failed(error))
    if workspace is not None:
        _check_seeds(events, workspace)
    operators = [*net.ops, *ir.gradient_ops]
    if deduplicate is not None and not isinstance(events[-1], Failed):
        merges = list(deduplication_events(events, operators, deduplicate))
        events += merges
        operators += [op for merge in merges for op in merge.operators]
    missing = _missing(operators, workspace)
    values: dict[Key, Array] = {}
    if workspace is not None and not missing and not isinstance(events[-1], Failed):
        _run(operators, workspace, events, values)
    return Recording(net, ys, skip, operators, events, values, missing, deduplicate)


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


def _run(operators: list[Operator], workspace: Workspace, events: list[Event], values: dict[Key, Array]) -> None:
    """Run `operators` on the blobs of `workspace`, a `Ran` event each; every version of every blob goes to `values`."""
    blobs = {name: workspace.fetch(name, device=None) for name in workspace}
    program = number(operators)
    fit = Fit(events, program)
    try:
        ready = _planned(operators, blobs, workspace.device, fit)
        values.update({(name, 0): blobs[name] for name in ready.external})
        fit.check(-1, values)
        with np.errstate(all="ignore"):
            for position, (step, ssa) in enumerate(zip(ready.steps, program, strict=True)):
                start = perf_counter()
                run_step(step, blobs)
                finish(step.device)
                seconds = perf_counter() - start
                for name, version in zip(ssa.op.outputs, ssa.out_versions, strict=True):
                    values[name, version] = blobs[name]
                events.append(_ran(position, ssa, str(step.device), seconds))
                fit.check(position, values)
    except GradvizError as error:
        events.append(_failed(fit.told(error)))


def _planned(operators: list[Operator], blobs: dict[str, Array], device: Device, fit: Fit) -> Plan:
    """The plan; where it cannot be made because of a gradient that does not fit, the error is about that gradient."""
    try:
        return plan(operators, blobs, device)
    except RunError as error:
        if error.operator_index is not None:
            fit.foresee(error.operator_index, blobs)
        raise


def _ran(position: int, ssa: Ssa[BlobVersion], device: str, seconds: float) -> Ran:
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


def _check_seeds(events: Sequence[Event], workspace: Workspace) -> None:
    """Refuse a given gradient that no blob can have, whatever its shape."""
    for event in events:
        if not isinstance(event, Seeded) or event.operator is not None:
            continue
        parts = parts_of(event.gradient)
        given = {name: workspace[name] for name in parts if name in workspace}
        if len(parts) == len(given) == 2:
            _check_slice(event.y, parts, *given.values())
        y, name = event.y, parts[-1]
        array = given.get(name)
        if array is not None and array.dtype.kind in "fc" and np.isnan(array).any():
            raise RunError(
                f"The gradient {name} given for {y} holds {int(np.isnan(array).sum())} NaN of {array.size} elements: "
                "every gradient would become NaN.",
                kind="bad_value",
                blobs=[name, y],
                ways_out=[f"Feed {name} again without NaN.", f"Give None for {y} to start from ones."],
            )


def _check_slice(y: str, names: Sequence[str], indices: Array, values: Array) -> None:
    if indices.dtype.kind in "iu" and values.shape[: indices.ndim] == indices.shape:
        return
    raise RunError(
        f"The gradient given for {y} has indices {names[0]}, {indices.dtype} {indices.shape}, and values {names[1]}, "
        f"{values.dtype} {values.shape}: there must be one integer for each row of values.",
        kind="shape_mismatch",
        blobs=[*names, y],
        ways_out=[f"Feed {names[0]} as integers (n,) and {names[1]} as (n, ...)."],
    )
