"""Recording: everything that happened while a backward pass was generated and run, kept for looking at."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ...gradient import IR, Ys
from ...gradient.deduplication import check_aggregator, deduplication_events
from ...operators.registry import Array
from ...program import Device, GradientError, GradvizError, NetDef, NetError, Operator, RunError
from ...program.collection import uncollected
from ...program.events import Aggregator, EnteredSubnet, Event, Failed, LeftSubnet, Seeded, Visited
from ...program.operator import parts_of
from ...runtime import Workspace
from ...runtime.planning import Plan, plan
from ...runtime.store import Store
from .gradient_shapes import Fit
from .interrupts import INTERRUPTED, interrupted
from .limits import Budget, Folder, Limits, agreed
from .nets import Key, NetHalves, nets_of
from .progress import Progress
from .running import Recorder, Run
from .storing import StoringRecorder
from .undefined_blobs import complete

AT_ONCE = 256
"""Events of a pass between two looks at the clock."""


class Contents(NamedTuple):
    """What happened, and on what: attributes of a `Recording`."""

    operators: tuple[Operator, ...]
    generation: tuple[Event, ...]
    execution: tuple[Event, ...]
    events: tuple[Event, ...]
    values: Mapping[Key, Array]


class Recording:
    """What happened, in order, and the value of every blob version. Immutable once made.

    Attributes:
        net: the forward net.
        ys: what was differentiated, as asked.
        skip: how many leading operators took no part.
        deduplicate: how rows of equal index in sparse gradients of the net's inputs were merged; None: they were not.
        operators: the whole program: the forward operators, then the gradient operators.
        events: what happened, first to last; a last event `Failed` says that and why it stopped.
        generation: those of the pass.
        execution: the others: those of running the whole program.
        values: (name, version) -> array of everything around the nested nets that was fed or computed, on the device
            where it lies; those of numpy are read-only. Not there: not computed. With a store, to read one may take
            making it again, or reading a file; ``StoreError`` says that it cannot be had.
        store: keeps the values within a budget; None: they are kept by references.
        runs: each run of a nested net, with the values in it.
        left_by: the identity of a workspace on a stack -> the number of the run that left it.
        obstacle: why the program was not run although a workspace was given; None: it was, or none was.
    """

    skip: int = 0
    deduplicate: Aggregator | None = None
    store: Store | None = None
    runs: Sequence[Run] = ()
    left_by: Mapping[int, int] = {}
    obstacle: GradvizError | None = None

    @cached_property
    def net(self) -> NetDef:
        raise NotImplementedError

    @cached_property
    def ys(self) -> Ys:
        raise NotImplementedError

    @cached_property
    def contents(self) -> Contents:
        """The attributes that take time to make."""
        raise NotImplementedError

    @property
    def operators(self) -> tuple[Operator, ...]:
        return self.contents.operators

    @property
    def generation(self) -> tuple[Event, ...]:
        return self.contents.generation

    @property
    def execution(self) -> tuple[Event, ...]:
        return self.contents.execution

    @property
    def events(self) -> tuple[Event, ...]:
        return self.contents.events

    @property
    def values(self) -> Mapping[Key, Array]:
        return self.contents.values

    @cached_property
    def nets(self) -> NetHalves:
        """The outermost net, with the nested ones inside."""
        count = len(self.net.ops)
        return nets_of(self.operators[:count], self.operators[count:], self.generation)

    def run_at(self, path: str) -> Run | None:
        """The run at a path, ``"2.loop_net[3]/0.net"``; None: there was none."""
        return self._by_path.get(path)

    @cached_property
    def _by_path(self) -> dict[str, Run]:
        return {"/".join(run.path): run for run in self.runs}

    def rounds(self, run: Run) -> int | None:
        """How often the loop that `run` belongs to ran its net; None for what is no loop."""
        return None if run.iteration is None else self._rounds[_loop(run)]

    @cached_property
    def _rounds(self) -> Counter[tuple[int | None, int, str]]:
        return Counter(map(_loop, self.runs))


class NetRecording(Recording):
    """The recording of a net: its pass was generated, and then the whole program run."""

    def __init__(
        self,
        net: NetDef,
        ys: Ys,
        skip: int,
        operators: Sequence[Operator],
        generation: Sequence[Event],
        recorder: Recorder | None = None,
        obstacle: GradvizError | None = None,
        deduplicate: Aggregator | None = None,
        store: Store | None = None,
    ) -> None:
        self.net = net
        self.ys = ys
        self.skip = skip
        made, ran = tuple(generation), tuple(recorder.events) if recorder else ()
        self.contents = Contents(tuple(operators), made, ran, made + ran, recorder.values if recorder else {})
        self.runs = recorder.runs if recorder else ()
        self.left_by = {id(run.blobs): number for number, run in enumerate(self.runs) if run.net.argument == "net"}
        self.obstacle = obstacle
        self.deduplicate = deduplicate
        self.store = store
        if recorder is not None:
            self.nets = recorder.net


def _loop(run: Run) -> tuple[int | None, int, str]:
    return run.around, run.operator, run.net.argument


def record(
    net: NetDef,
    ys: Ys,
    *,
    workspace: Workspace | None = None,
    skip: int = 0,
    deduplicate: Aggregator | None = None,
    budget: Budget = None,
    spill: Folder = None,
    progress: Progress | None = None,
) -> Recording:
    """Generate the backward pass of `ys` and, where there is a workspace, run it all; keep what happens.

    What planning finds that keeps the program from being run is `Recording.obstacle`, and the last event, `Failed`.

    Neither `net` nor `workspace` is changed.

    Args:
        deduplicate: ``"sum"`` or ``"mean"`` to merge, after the pass, the rows of equal index in each sparse gradient
            of an input of the net.
        budget: the most bytes that what operators make may take, as a number or as text (``"1 GB"``); what does not
            fit is dropped and made again when it is asked for, see `gradviz.runtime.store`. None: all is kept.
        spill: a folder where arrays may be written that do not fit, or True for one of the system's; the files go with
            the recording.
        progress: is told how far the recording is, every now and then if it takes long.

    An interrupt (Ctrl+C) ends the recording with a last event `Failed` of the kind ``interrupted``; a second one raises
    KeyboardInterrupt.

    Raises:
        StoreError: ``bad_budget``, ``bad_spill``.
        NetError: `net` is no net, or `deduplicate` neither ``"sum"`` nor ``"mean"``.
        GradientError: ``bad_ys``, ``bad_skip``, ``bad_net``, ``orphan_stop_gradient``: there is nothing to record. A
            fault met on the way is recorded as the last event, `Failed`.
        RunError: ``bad_value`` when a given gradient holds a NaN, ``shape_mismatch`` when it is a slice whose indices
            and values do not belong together.
    """
    _check_arguments(net, ys, workspace)
    if deduplicate is not None:
        check_aggregator(deduplicate)
    with agreed(budget, spill, progress) as limits:
        return _recorded(net.copy(), ys, workspace, skip, deduplicate, limits)


def _recorded(
    net: NetDef,
    ys: Ys,
    workspace: Workspace | None,
    skip: int,
    deduplicate: Aggregator | None,
    limits: Limits,
) -> Recording:
    ir = IR(net.ops, skip)
    events: list[Event] = []
    try:
        with uncollected():
            _generate(ir.backward_events(ys), events, limits)
    except GradvizError as error:
        if not events:
            raise
        events.append(stopped(error, events))
    if workspace is not None:
        _check_seeds(events, workspace)
    operators = [*net.ops, *ir.gradient_ops]
    if deduplicate is not None and not isinstance(events[-1], Failed):
        outermost = [event for event in events if not event.path]
        merges = list(deduplication_events(outermost, operators, deduplicate))
        events += merges
        operators += [op for merge in merges for op in merge.operators]
    recorder = obstacle = None
    if workspace is not None and not isinstance(events[-1], Failed):
        limits.pace.before = len(events)
        nets = nets_of(net.ops, operators[len(net.ops) :], events)
        recorder = Recorder(nets, limits) if limits.store is None else StoringRecorder(nets, limits, limits.store)
        obstacle = _run(recorder, operators, workspace, events)
    elif workspace is not None and not limits.interrupts.is_asked:
        obstacle = _obstacle_ahead(net.ops, workspace)
    return NetRecording(net, ys, skip, operators, events, recorder, obstacle, deduplicate, limits.store)


def _generate(generator: Iterator[Event], events: list[Event], limits: Limits) -> None:
    """Let a pass be generated; `events` gets what happens."""
    count = -1
    while count < len(events):
        count = len(events)
        events.extend(islice(generator, AT_ONCE))
        if limits.interrupts.is_asked:
            raise interrupted(f"after event {len(events)}, while the pass was generated")
        if (now := perf_counter()) > limits.pace.due:
            limits.pace.tell(now, len(events))


def _check_arguments(net: object, ys: object, workspace: object) -> None:
    if not isinstance(net, NetDef):
        raise NetError(
            f"There is no net to debug in {net!r}.",
            kind="bad_net",
            ways_out=["Give a gradviz.Net and its ys, or a gradviz.Variable that code has computed."],
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
    recorder: Recorder, operators: list[Operator], workspace: Workspace, generation: Sequence[Event]
) -> GradvizError | None:
    """Run `operators`, all of the net that `recorder` records, on the blobs of `workspace`.

    Returns what keeps them from being run at all, if anything does.
    """
    blobs = _blobs(workspace)
    fit = Fit(generation, recorder.net.program)
    try:
        ready = _planned(operators, blobs, workspace.device, fit)
        started = recorder.start(
            blobs, {name: blobs[name] for name in (*ready.external, *_given(generation, operators))}
        )
        fit.check(-1, recorder.values)
    except GradvizError as error:
        obstacle = complete(fit.told(error), operators, blobs)
        recorder.fail(obstacle)
        return obstacle
    try:
        recorder.run(ready.steps, started, fit)
    except GradvizError as error:
        recorder.fail(error if error.kind == INTERRUPTED else fit.told(error))
    return None


def _obstacle_ahead(operators: list[Operator], workspace: Workspace) -> GradvizError | None:
    """What would keep a net from being run whose pass could not be generated."""
    blobs = _blobs(workspace)
    try:
        plan(operators, blobs, workspace.device)
    except GradvizError as error:
        return complete(error, operators, blobs)
    return None


def _blobs(workspace: Workspace) -> dict[str, Array]:
    return {name: workspace.fetch(name, device=None) for name in workspace}


def _given(generation: Sequence[Event], operators: Sequence[Operator]) -> list[str]:
    """The gradients that the pass was given and nobody writes; it may be that nobody reads them."""
    written = {name for op in operators for name in op.outputs}
    seeds = [event for event in generation if isinstance(event, Seeded) and event.operator is None and not event.path]
    return [name for event in seeds for name in parts_of(event.gradient) if name not in written]


def _planned(operators: list[Operator], blobs: dict[str, Array], device: Device, fit: Fit) -> Plan:
    """The plan; where it cannot be made because of a gradient that does not fit, the error is about that gradient."""
    try:
        return plan(operators, blobs, device)
    except RunError as error:
        if error.operator_index is not None:
            fit.foresee(error.operator_index, blobs)
        raise


def stopped(error: GradvizError, events: Sequence[Event]) -> Failed:
    """The event for an error that the pass has met; it names the innermost net that it happened in."""
    path: tuple[str, ...] = ()
    visited: dict[tuple[str, ...], int] = {}
    for event in events:
        if isinstance(event, EnteredSubnet):
            path = (*event.path, f"{event.index}.{event.argument}")
        elif isinstance(event, LeftSubnet):
            path = event.path
        elif isinstance(event, Visited):
            visited[event.path] = event.index
    index = visited.get(path) if path else error.operator_index
    return Failed(error.kind, error.message, error.explain(), index, list(map(str, error.blobs)), path=path)


def _check_seeds(events: Sequence[Event], workspace: Workspace) -> None:
    """Refuse a given gradient that no blob can have, whatever its shape."""
    for event in events:
        if not isinstance(event, Seeded) or event.operator is not None or event.path:
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
