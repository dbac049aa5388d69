"""What an engine hands to whoever looks at a backward pass: its events and values, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...operators.registry import Array
from ...program import Gradient, GradvizError, NetDef, Operator
from ...program.events import Aggregator, Event
from ...program.net_halves import Key, NetHalves, nets_of
from .execution import Run


class Lending(NamedTuple):
    """How many names of a pool are in use and free before a pass, and how many the pass takes until it is over."""

    name: str
    in_use: int
    free: int
    taken: int


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
        events: what happened, first to last; a last event `Failed` says that and why it stopped.
        values: (name, version) -> array of everything around the nested nets that was fed or computed, on the device
            where it lies; those of numpy are read-only. Not there: not computed. With a store, to read one may take
            making it again, or reading a file; ``StoreError`` says that it cannot be had.
        summary: says of it what the pass is about, in the sentences that are shown before anything has happened.
        nets: makes of it the outermost net as it is shown, with the nested ones inside.
        skip: how many leading operators took no part.
        deduplicate: how rows of equal index in sparse gradients of the net's inputs were merged; None: they were not.
        runs: each run of a nested net, with the values in it.
        obstacle: why the program was not run although a workspace was given; None: it was, or none was.
        held: the Variables that held a gradient before the pass -> its version.
        pools: what the pass takes from pools of names while it runs.
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
    runs: Sequence[Run] = ()
    obstacle: GradvizError | None = None
    held: Mapping[str, str] = {}
    pools: Sequence[Lending] = ()
