"""What a recording is about, in a sentence or two, before anything has happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...program.events import Accumulated, Deduplicated, Event, Failed, Played
from ...runtime.byte_counts import written
from ..journal import EagerRecording, Recording
from .narration import code, count_of, listed
from .obstacle import sentence


def summary_of(recording: Recording) -> str:
    """The summary of a recording."""
    if isinstance(recording, EagerRecording):
        words = summary_by_rank if recording.schedule == "rank" else tape_summary
        return words(recording.ys, recording.events) + stored(recording)
    return summary(recording) + stored(recording)


def summary(recording: Recording) -> str:
    """What a recording is about, before anything has happened."""
    forward = len(recording.net.ops)
    sums = sum(isinstance(event, Accumulated) for event in recording.generation)
    ys = listed([code(y) for y in dict.fromkeys(recording.ys)])
    said = f"A net of {count_of(forward, 'operator')}, differentiated from {ys}"
    has_failed = isinstance(last := recording.events[-1], Failed)
    if recording.obstacle is not None:
        has_failed = isinstance(last := recording.generation[-1], Failed)
        said += f". It cannot be run: {sentence(recording.obstacle)} The backward pass"
        said += " stops" if has_failed else " is generated all the same"
    elif has_failed:
        said += ". The pass stops"
    if isinstance(last, Failed):
        return f"{said} at the last event: {last.message}"
    said += f": {count_of(len(recording.operators) - forward, 'gradient operator')} in the making"
    said += f", with {count_of(sums, 'accumulation')}. Step to see how they come about."
    if nested := sum(net is not recording.nets for net in recording.nets):
        said += f" {count_of(nested, 'nested net')}: into enters one, out leaves it."
    if recording.deduplicate is None or any(isinstance(event, Deduplicated) for event in recording.events):
        return said
    return f"{said} No input of the net has a sparse gradient, so no rows are merged."


def stored(recording: Recording) -> str:
    """What is not in memory, because of a budget; empty where all is."""
    if recording.store is None:
        return ""
    contents = recording.store.contents
    gone = contents.dropped.arrays + contents.spilled.arrays
    if not gone:
        return "".join(f" {refusal}" for refusal in contents.refused)
    ways = [
        f"{count.arrays:,} {how}"
        for count, how in ((contents.dropped, "made again"), (contents.spilled, "read from files"))
        if count.arrays
    ]
    said = f" To keep within {written(contents.budget)}, {gone:,} of {gone + contents.kept.arrays:,} values that "
    said += f"operators made are not in memory: {listed(ways)} when they are asked for."
    return said + "".join(f" {refusal}" for refusal in contents.refused)


def summary_by_rank(ys: Iterable[str], events: Sequence[Event]) -> str:
    """What a recording is about, before anything has happened."""
    played = [event for event in events if isinstance(event, Played)]
    sums = sum(isinstance(event, Accumulated) and len(event.contributions) > 1 for event in events)
    starts = listed(list(map(code, ys)))
    said = f"{count_of(len(played), 'function')} led to {starts} when the code ran"
    if isinstance(last := events[-1], Failed):
        return f"{said}. The backward pass stops at the last event: {last.message}"
    said += f"; {'they go' if len(played) > 1 else 'it goes'} backward as {starts} asks, the greatest rank first"
    return f"{said}, with {count_of(sums, 'accumulation')}. Step to see who is next, and why."


def tape_summary(ys: Iterable[str], events: Sequence[Event]) -> str:
    """The same for a tape."""
    played = sum(isinstance(event, Played) for event in events)
    starts = listed(list(map(code, ys)))
    said = f"{count_of(played, 'function')} led to {starts} when the code ran"
    if isinstance(last := events[-1], Failed):
        return f"{said}. The backward pass stops at the last event: {last.message}"
    said += "; the tape that they are makes a program, whose gradient operators come next and then run"
    return f"{said} on the values that are there. Step to see how they come about."
