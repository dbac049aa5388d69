"""Recording: everything that happened while a backward pass was generated and run, kept for looking at."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from ...gradient import Ys
from ...operators.registry import Array
from ...program import GradvizError, NetDef, Operator
from ...program.events import Aggregator, Completed, Deduplicated, Event, Ran
from ...program.net_halves import Key, NetHalves
from ...runtime.store import Store
from ...runtime.watched import Journal, Lending, Run, uncollected
from ..document import Trace
from .program_text import ProgramText


class Recording:
    """What an engine did, in order, and the value of every blob version. Immutable once made.

    Attributes:
        store: keeps the values within a budget; None: they are kept by references.
        saved: what a file that it was read from has of it beside its events: numbers, but no arrays; None: it was not
            read from a file.

    The others are those of `Journal`.

    Args:
        journal: gives what the engine hands on, when it is first looked at.
    """

    def __init__(self, journal: Callable[[], Journal], store: Store | None = None, saved: Trace | None = None) -> None:
        self.store = store
        self.saved = saved
        self._read = journal

    @cached_property
    def _journal(self) -> Journal:
        with uncollected():
            return self._read()

    @property
    def engine(self) -> str:
        return self._journal.engine

    @property
    def net(self) -> NetDef:
        return self._journal.net

    @property
    def ys(self) -> Ys:
        return self._journal.ys

    @property
    def skip(self) -> int:
        return self._journal.skip

    @property
    def deduplicate(self) -> Aggregator | None:
        return self._journal.deduplicate

    @property
    def operators(self) -> tuple[Operator, ...]:
        return self._journal.operators

    @property
    def events(self) -> tuple[Event, ...]:
        return self._journal.events

    @property
    def values(self) -> Mapping[Key, Array]:
        return self._journal.values

    @property
    def runs(self) -> Sequence[Run]:
        return self._journal.runs

    @property
    def obstacle(self) -> GradvizError | None:
        return self._journal.obstacle

    @property
    def held(self) -> Mapping[str, str]:
        return self._journal.held

    @property
    def pools(self) -> Sequence[Lending]:
        return self._journal.pools

    @cached_property
    def summary(self) -> str:
        """What the pass is about: shown before anything has happened."""
        return self._journal.summary(self._journal)

    @cached_property
    def nets(self) -> NetHalves:
        """The outermost net as it is shown, with the nested ones inside."""
        return self._journal.nets(self._journal)

    @cached_property
    def is_of_pass(self) -> list[bool]:
        """Of each event whether it belongs to the pass, and not to running the program."""
        is_over, found = False, []
        for event in self.events:
            found.append(type(event) is not Ran and (not is_over or type(event) is Deduplicated))
            is_over = is_over or (type(event) is Completed and not event.path)
        return found

    @cached_property
    def generation(self) -> tuple[Event, ...]:
        """The events of the pass: all before it is complete but `Ran`, and where rows were merged after it."""
        return tuple([event for event, is_one in zip(self.events, self.is_of_pass, strict=True) if is_one])

    @cached_property
    def execution(self) -> tuple[Event, ...]:
        """The others: those of running the whole program."""
        return tuple([event for event, is_one in zip(self.events, self.is_of_pass, strict=True) if not is_one])

    @cached_property
    def left_by(self) -> Mapping[int, int]:
        """The identity of a workspace on a stack -> the number of the run that left it."""
        return {id(run.blobs): number for number, run in enumerate(self.runs) if run.net.argument == "net"}

    @cached_property
    def text(self) -> ProgramText:
        """The statements of every net, and what each writing is called at each position."""
        with uncollected():
            return ProgramText(self.nets, self.events)

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


def _loop(run: Run) -> tuple[int | None, int, str]:
    return run.around, run.operator, run.net.argument
