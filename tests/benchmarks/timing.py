"""Timing: contenders run in turn in one process, so that what else the machine does meets all of them alike."""

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from math import inf
from time import process_time
from typing import TypeVar

Name = TypeVar("Name")


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes:
        repetitions: samples of each contender, of which the best counts.
        sample_seconds: how long a sample takes at least.
        operators: lengths of generated programs, ascending; growth is that of the last against the one before.
    """

    repetitions: int
    sample_seconds: float
    operators: tuple[int, ...]

    def for_length(self, operators: int) -> "Effort":
        """The effort for a program of so many operators: the longest is measured fewer times."""
        return replace(self, repetitions=3) if operators == self.operators[-1] else self


FULL = Effort(repetitions=9, sample_seconds=0.1, operators=(1_000, 10_000, 100_000))
QUICK = Effort(repetitions=3, sample_seconds=0.01, operators=(100, 1_000))


def best_seconds(contenders: Mapping[Name, Callable[[], object]], effort: Effort) -> dict[Name, float]:
    """CPU seconds that one call of each contender takes: the best of its samples.

    A sample is as many calls as fill the time of one call of the slowest contender. Contenders take turns, in
    alternating order, so that none has the quiet moments, the short samples or the warm cache for itself. The garbage
    collector stays on, since users have it on.
    """
    once = {name: _warm(call, effort.sample_seconds) for name, call in contenders.items()}
    length = max(effort.sample_seconds, *once.values())
    calls = {name: max(1, round(length / seconds)) for name, seconds in once.items()}
    best = dict.fromkeys(contenders, inf)
    turns = list(contenders.items())
    for _ in range(effort.repetitions):
        for name, call in turns:
            best[name] = min(best[name], _sample(call, calls[name]))
        turns.reverse()
    return best


def _warm(call: Callable[[], object], enough: float) -> float:
    """CPU seconds of a call; of the second one, unless the first shows that plans and caches hardly matter to it."""
    first = _sample(call, 1)
    return first if first > enough else _sample(call, 1)


def _sample(call: Callable[[], object], calls: int) -> float:
    """CPU seconds a call, over `calls` calls in a row."""
    # What the sample before left young is not ours to pay for. A full collection would take longer than most samples.
    gc.collect(1)
    start = process_time()
    for _ in repeat(None, calls):
        call()
    return (process_time() - start) / calls
