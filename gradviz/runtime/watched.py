"""Running under watch: an event for each operator, and every blob version kept, in each nested run too.

Interrupts, Ctrl+C and Jupyter's stop button, end a recording between two operators, and what was recorded stays. Who
waits is told how far it is. `Journal` is what every engine hands on.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from types import FrameType
from typing import Any, NamedTuple, Protocol, Self

from ..operators.registry import Array, Kernel
from ..program import Device, Gradient, GradvizError, NetDef, Operator, RunError
from ..program.control_flow import within
from ..program.events import Aggregator, Event, Failed
from ..program.net_halves import Key, NetHalves, nets_of
from .devices import CPU, device_of, finish
from .executor import run_step
from .nested import Nested as Runnable
from .nested import Step
from .notes import ENTERED, LEFT, NO_RUNS, NOWHERE, RAN, Blobs, Half, Lookup, Notes, Runs, Values, put
from .pace import Pace
from .store import Store, beside, entries_of, feed, new_values, share

INTERRUPTED = "interrupted"


class Interrupts:
    """Inside its ``with`` block an interrupt is noted; a second one raises KeyboardInterrupt where the program stands.

    Where somebody else handles interrupts, and in a thread that gets none, nothing is noted.

    Attributes:
        is_asked: whether there was one.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:
            signal.default_int_handler(number, frame)
        self.is_asked = True


class Limits(NamedTuple):
    """What holds while something is recorded.

    Attributes:
        store: keeps the values within a budget; None: they are kept by references.
        interrupts: end the recording after the operator that runs.
        pace: is told how far it is.
        stand: is called before what is next runs; None: nobody wants to stand still.
    """

    store: Store | None
    interrupts: Interrupts
    pace: Pace
    stand: Callable[[Any], None] | None = None


def interrupted(where: str, operator_index: int | None = None) -> RunError:
    """What ends a recording that was interrupted."""
    return RunError(
        f"Interrupted by you {where}.",
        kind=INTERRUPTED,
        operator_index=operator_index,
        ways_out=[
            "Everything before is here: step, look at values, ask.",
            "Record it again to see the rest; a smaller net or fewer iterations take less time.",
        ],
    )


MANY = 1_000
"""So many new objects a block must leave for the cycle collector to be kept from them right after it too."""

MOST_SPARED = 8_000_000
"""When blocks have left more objects than this so, the next one begins with a collection of all."""

_spared = 0
_is_frozen = False
"""Whether somebody else has frozen objects, which stay so. How many they are is counted one by one: once is enough."""


@contextmanager
def uncollected(*, is_asked: bool = False) -> Iterator[None]:
    """Keep the cycle collector from passing over and over objects that are all still needed.

    Without it the time for n objects grows faster than n. What becomes garbage inside is collected after the block;
    after a block of `MANY` objects by the next collection of all objects, which a later block begins with in time,
    unless it `is_asked`: somebody waits for an answer.
    """
    global _spared, _is_frozen
    was_enabled = gc.isenabled()
    if was_enabled and _spared > MOST_SPARED and not is_asked:
        gc.collect()
        _spared = 0
    gc.disable()
    try:
        yield
    finally:
        survivors = gc.get_count()[0]
        if was_enabled and survivors > MANY and not _is_frozen:
            _is_frozen = gc.get_freeze_count() > 0
            if not _is_frozen:
                # To freeze and thaw makes all of them old without a look at one.
                gc.freeze()
                gc.unfreeze()
                _spared += survivors
        if was_enabled:
            gc.enable()


class WatchedExecution:
    """Runs a program and notes what happens.

    Attributes:
        notes: what has happened.
        values: blob version -> array of the outermost net.

    Args:
        net: the outermost net.
        limits: within which it is recorded.
        before: what was noted of the operators that have run before; None: none has.
    """

    def __init__(self, net: NetHalves, limits: Limits, before: Notes | None = None) -> None:
        self.notes = Notes(net if before is None else None, limits.store, before)
        self.values: Values = new_values(limits.store)
        codes, seconds = self.notes.codes, self.notes.seconds
        # Looked up once, since a loop of many rounds asks for them as often.
        self._at_hand = (*limits[:3], codes.append, seconds.append)
        self._steps: list[Step] = []
        self._done = self._count = 0
        self._net, self._half = net, Half(net, NOWHERE, NOWHERE)
        self._run = NOWHERE
        self._failed: tuple[int, int | None] | None = None

    def start(self, fed: Mapping[str, Array]) -> Blobs:
        """Note what is fed; returns the blobs to run on."""
        feed(self.values, {(name, 0): array for name, array in fed.items()})
        blobs: Blobs = beside(self.values, {})
        for name in fed:
            share(name, blobs, self.values, (name, 0))
        return blobs

    def run(self, steps: Sequence[Step], blobs: Blobs) -> Generator[int]:
        """Run the program, or what is next of it, on `blobs`; yields the position of each operator of the outermost net
        that has run.

        Raises GradvizError where an operator fails.
        """
        self.notes.steps = self._steps = planned = list(steps)
        self._count = len(planned)
        look = entries_of(blobs).get
        for number, step in enumerate(planned):
            self._done = number
            entries: list[Any] = []
            try:
                self._run_steps((step,), blobs, look, entries)
            finally:
                put(self.values, self._net.program[step.position].written, entries)
            yield step.position
        _, _, pace, *_ = self._at_hand
        pace.end(len(self.notes.codes), self._count, self._count)

    def fail(self, error: GradvizError) -> None:
        """The program ends with an error, in the innermost net that it happened in."""
        run, index = self._failed or (NOWHERE, error.operator_index)
        self.notes.failed = Failed.of(error, index, self.notes.runs.path(run))

    def _run_steps(self, steps: Iterable[Step], blobs: Blobs, look: Lookup, note: list[Any]) -> None:
        """Run operators of one net, one after the other; `note` gets what they have written."""
        (store, interrupts, pace, note_code, note_seconds), run_nested = self._at_hand, self._run_nested
        note_entry = note.append
        for step in steps:
            waited = 0.0 if store is None else store.seconds
            start = perf_counter()
            try:
                run_step(step, blobs, run_nested)
            except GradvizError:
                self._fails_at(step)
                raise
            device = step.device
            if step.roams:
                device = device_of(blobs[[*step.op.outputs, *step.op.inputs][0]])
                if device != step.device:
                    self._ran_elsewhere(step, device)
            if device is not CPU:
                finish(device)
            end = perf_counter()
            note_seconds(end - start if store is None else end - start + waited - store.seconds)
            for name in step.op.outputs:
                note_entry(look(name))
            note_code(RAN)
            if end > pace.due:
                pace.tell(end, len(self.notes.codes), self._done, self._count)
            if interrupts.is_asked:
                self._fails_at(step)
                raise interrupted(f"after operator #{step.position} {step.op}", step.position)

    def _ran_elsewhere(self, step: Step, device: Device) -> None:
        """A step of the net that runs has run on another device than was planned for all of its runs."""
        ran = step._replace(device=device)
        if self._run == NOWHERE:
            self._steps[self._done] = ran
        else:
            note = self.notes.noted[self._run]
            note[3] = [ran if one is step else one for one in note[3]]

    def _fails_at(self, step: Step) -> None:
        """A step of the net that runs ends it, and so every net around."""
        if self._run != NOWHERE and self._failed is None:
            self._failed = self._run, step.position

    def _run_nested(
        self, parent: Runnable, argument: str, steps: Sequence[Step], values: Blobs, iteration: int | None
    ) -> None:
        notes, half, run, place = self.notes, self._half, self._run, parent.position
        inner = half.inside.get((place, argument)) or notes.new_half(half, place, argument)
        look = entries_of(values).get
        of_do = values if argument == "net" else None
        note = [inner, run, iteration, steps, of_do, *map(look, inner.names_read)]
        self._half, self._run = inner, len(notes.noted)
        notes.codes.append(ENTERED)
        notes.noted.append(note)
        try:
            self._run_steps(steps, values, look, note)
        except GradvizError as error:
            raise within(error, parent.op, place, argument, iteration) from error
        self._half, self._run = half, run
        notes.codes.append(LEFT)


class Lending(NamedTuple):
    """How many names of a pool are in use and free before a pass, and how many the pass takes until it is over."""

    name: str
    in_use: int
    free: int
    taken: int


class Rest(NamedTuple):
    """What the rest of a program makes of a blob.

    Attributes:
        run: from an array in place of the blob to the values of the ys, as the journal lists them.
        notes: how it is run, and what stays as it was though the blob changes it, in words.
        dtypes: in which it was recorded, as far as they are known.
        ys: those that it gives; None: all.
        own: the kernels of the user's that it calls, by the types of their operators.
    """

    run: Callable[[Array], list[Array]]
    notes: list[str]
    dtypes: set[str]
    ys: Sequence[Key] | None = None
    own: Mapping[str, Kernel] = {}


class Again(Protocol):
    """Parts of a recorded program, to be run again on other values: an engine brings it whose operators are its own."""

    def rest(self, blob: Key) -> Callable[[], Rest]:
        """What runs the program once, and gives what is behind a blob version.

        Both raise GradvizError where it cannot be run again as it was, at once where that is known without running it.
        """

    def backward(self, index: int, arriving: Mapping[int, Array]) -> list[Array | None]:
        """What forward operator `index` sends to each of its inputs, of the gradients of some of its outputs.

        Raises:
            GradvizError: its backward cannot be run again.
        """


def nets_as_run(journal: Journal) -> NetHalves:
    """The nets of the operators that run."""
    count = len(journal.net.ops)
    return nets_of(journal.operators[:count], journal.operators[count:], journal.events)


class Journal(NamedTuple):
    """What an engine did.

    Attributes:
        engine: its name.
        net: the forward net.
        ys: what was differentiated, as asked.
        operators: the whole program: the forward operators, then the gradient operators.
        events: what happened, first to last, or what did before the program ran; a last event `Failed` says that and
            why it stopped.
        values: (name, version) -> array of everything around the nested nets that was fed or computed, on the device
            where it lies; those of numpy are read-only. Not there: not computed. With a store, to read one may take
            making it again, or reading a file; ``StoreError`` says that it cannot be had.
        summary: says of it what the pass is about, in the sentences that are shown before anything has happened.
        nets: makes of it the outermost net as it is shown, with the nested ones inside.
        skip: how many leading operators took no part.
        deduplicate: how rows of equal index in sparse gradients of the net's inputs were merged; None: they were not.
        notes: of running the program, behind the events; None: they tell that, or it was not run.
        runs: those of nested nets, with the values in them.
        obstacle: why the program was not run although a workspace was given; None: it was, or none was.
        grads_before: the Variables that had a gradient before the pass -> its version.
        pools: what the pass takes from pools of names while it runs.
        absent: says of a blob, or a version of one, that has no value why, and a way out; None: it was not computed.
        beside: says of what takes no part in the pass, by its name, why it gets no gradient, and the ways out; None, or
            where it answers None: nothing is known of it.
        again: runs parts of it again; None: its operators are those of the table.
    """

    engine: str
    net: NetDef
    ys: list[str] | Mapping[str, Gradient | None]
    operators: tuple[Operator, ...]
    events: tuple[Event, ...]
    values: Mapping[Key, Array]
    summary: Callable[[Journal], str]
    nets: Callable[[Journal], NetHalves] = nets_as_run
    skip: int = 0
    deduplicate: Aggregator | None = None
    notes: Notes | None = None
    runs: Runs = NO_RUNS
    obstacle: GradvizError | None = None
    grads_before: Mapping[str, str] = {}
    pools: Sequence[Lending] = ()
    absent: Callable[[str], tuple[str, str]] | None = None
    beside: Callable[[str], tuple[str, Sequence[str]] | None] | None = None
    again: Again | None = None
