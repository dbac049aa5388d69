"""Recording into a store: what operators make is kept within a budget, with how to make it again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from ...operators import lookup
from ...operators.registry import Array
from ...program import Operator
from ...program.net_halves import Key, NetHalves, Numbered
from ..devices import CPU
from ..executor import run_step
from ..held import Held, Making
from ..shelf import Shelf
from ..step import Step
from ..store import Store
from .execution import Blobs, Values, WatchedExecution
from .limits import Limits


class StoringExecution(WatchedExecution):
    """Runs a program; its values lie in `store`, and so must the blobs that it runs on."""

    def __init__(self, net: NetHalves, limits: Limits, store: Store) -> None:
        super().__init__(net, limits)
        self.values = Shelf(store)
        self._store = store
        self._ends = dict(_ends(net))

    def run(self, steps: Sequence[Step], blobs: Blobs) -> Generator[int]:
        self._store.is_running = True
        try:
            yield from super().run(steps, blobs)
        finally:
            self._store.is_running = False
            self._store.settle()

    def start(self, blobs: Blobs, fed: Mapping[str, Array]) -> Blobs:
        assert isinstance(self.values, Shelf)
        self.values.feed({(name, 0): array for name, array in fed.items()})
        ours: Shelf[str] = Shelf(self._store)
        for name in fed:
            ours.share(name, self.values, (name, 0))
        return ours

    def _step(self, step: Step, played: Numbered, blobs: Blobs, values: Values, path: tuple[str, ...]) -> None:
        # What has to be made or read again for a step is no part of the time that it takes.
        assert isinstance(blobs, Shelf)
        read = [blobs.held(name) for name in step.op.inputs]
        self._store.gather([held for held in read if isinstance(held, Held)])
        super()._step(step, played, blobs, values, path)

    def _keep(self, step: Step, played: Numbered, blobs: Blobs, values: Values, seconds: float) -> None:
        assert isinstance(values, Shelf)
        assert isinstance(blobs, Shelf)
        for key in played[3]:
            if key[0] in blobs:
                values.share(key, blobs, key[0])
        known = lookup(step.op.type)
        if step.nested is None and known is not None and known.is_repeatable and step.device == CPU:
            op, in_versions, _, written = played
            kind = None if known.is_kernel_ours else op.type
            remember(values, op, in_versions, written, kind, partial(run_again, step), seconds)
        for key in self._last_reads(played):
            if isinstance(held := values.held(key), Held):
                self._store.release(held)
        self._store.settle()

    def _last_reads(self, played: Numbered) -> Sequence[Key]:
        """What no operator reads after this one."""
        return self._ends.get(id(played), ())


def watched(net: NetHalves, limits: Limits) -> WatchedExecution:
    """What runs `net` within `limits`."""
    return WatchedExecution(net, limits) if limits.store is None else StoringExecution(net, limits, limits.store)


def _ends(net: NetHalves) -> Iterator[tuple[int, list[Key]]]:
    """For each operator of a net and of those inside, as its half has it, the blob versions that none reads later."""
    for one in net:
        read: set[Key] = set()
        for played in reversed([*one.part(False).steps, *one.part(True).steps]):
            op, in_versions, _, written = played
            touched = [*zip(op.inputs, in_versions, strict=True), *written]
            yield id(played), [key for key in touched if key not in read]
            read.update(touched)


def remember(
    values: Shelf[Key],
    op: Operator,
    in_versions: Sequence[int],
    writes: Sequence[Key],
    kind: Hashable,
    run: Callable[[Sequence[Any]], Sequence[Array]],
    seconds: float,
) -> None:
    """Tell the store of `values` how what `op` wrote can be made again; the other arguments as in `Making`."""
    inputs = [values.held(key) for key in zip(op.inputs, in_versions, strict=True)]
    outputs = [values.held(key) for key in writes]
    if all(one is not None for one in inputs) and all(isinstance(one, Held) for one in outputs):
        known = [one for one in inputs if one is not None]
        made = [ref(one) for one in outputs if isinstance(one, Held)]
        values.store.made(Making(op.type, kind, run, known, made, seconds))


def run_again(step: Step, arrays: Sequence[Any]) -> list[Array]:
    """What an operator makes of what it reads."""
    blobs = dict(zip(step.op.inputs, arrays, strict=True))
    with np.errstate(all="ignore"):
        run_step(step, blobs)
    return [blobs[name] for name in step.op.outputs]
