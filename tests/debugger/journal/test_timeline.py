"""Nested nets and groups of events, worked out all at once, are those that one finds event by event."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradviz import debug
from gradviz.debugger.journal import NOWHERE, Timeline, codes_of
from gradviz.program import events
from tests.debugger.loops import fed, gated

BROUGHT = ("RuleApplied", "InputChecked", "GeneratorAdded", "Accumulated")
OTHERS = ("Played", "Seeded", "Visited", "Skipped", "GradWritten", "Deduplicated", "Ran", "Failed", "Completed")


@st.composite
def recordings(draw):
    """Kinds of events among which each nested net that is left was entered before; the last may stay open."""
    kinds, depth = [], 0
    for kind in draw(st.lists(st.sampled_from([*BROUGHT, *OTHERS, *["EnteredSubnet", "LeftSubnet"] * 4]), max_size=60)):
        if kind != "LeftSubnet" or depth:
            kinds.append(kind)
            depth += (kind == "EnteredSubnet") - (kind == "LeftSubnet")
    return kinds


def passages(kinds):
    """For each event the one that entered the net around it, and the other end of the net that it enters or leaves."""
    open_, around, other = [NOWHERE], [], list(range(len(kinds)))
    for number, kind in enumerate(kinds):
        if kind == "LeftSubnet":
            entered = open_.pop()
            other[entered], other[number] = number, entered
        around.append(open_[-1])
        if kind == "EnteredSubnet":
            other[number] = len(kinds) - 1
            open_.append(number)
    return around, other


def runs(kinds):
    """Of each event whether it enters a nested net in which, until it is left, nothing but running happens."""
    _, other = passages(kinds)
    inside = [kinds[number + 1 : end] for number, end in enumerate(other)]
    return [
        kind == "EnteredSubnet" and kinds[end] == "LeftSubnet" and {*some} <= {"EnteredSubnet", "LeftSubnet", "Ran"}
        for kind, end, some in zip(kinds, other, inside, strict=True)
    ]


def groups(kinds):
    """The number of each event's group; of each net that is open: its group, the kind of its last event, and whether
    it runs."""
    found, count, is_run = [], -1, False
    open_ = [[None, "", False]]
    for kind, enters_run in zip(kinds, runs(kinds), strict=True):
        if kind == "LeftSubnet":
            open_.pop()
        group, last, runs_inside = open_[-1]
        goes_on = kind in (*BROUGHT, "LeftSubnet")
        if kind in ("Ran", "EnteredSubnet"):
            goes_on = not (is_run or runs_inside) or last == "LeftSubnet"
        if group is None or not goes_on:
            count += 1
            group = count
        open_[-1] = [group, kind, runs_inside]
        found.append(group)
        is_run |= kind == "Completed" and len(open_) == 1
        if kind == "EnteredSubnet":
            open_.append([None, "", enters_run])
    return found


@given(recordings())
def test_nested_nets_begin_and_end_where_one_finds_them_event_by_event(kinds):
    timeline, (around, other) = Timeline(codes_of(getattr(events, kind) for kind in kinds)), passages(kinds)
    assert timeline.around.tolist() == around
    assert timeline.other.tolist() == other
    inside = [one if kinds[one] == "EnteredSubnet" else around[one] for one in range(len(kinds))]
    assert timeline.inside.tolist() == [NOWHERE, *inside]
    whole = next((at for at, kind in enumerate(kinds) if kind == "Completed" and around[at] == NOWHERE), len(kinds))
    begun = [at for at, is_run in enumerate(runs(kinds)) if is_run or (kinds[at] == "EnteredSubnet" and at > whole)]
    assert timeline.begun.tolist() == begun
    assert timeline.passages.tolist() == [one for one, kind in enumerate(kinds) if kind.endswith("Subnet")]


@given(recordings())
def test_groups_are_those_that_one_finds_event_by_event(kinds):
    timeline, found = Timeline(codes_of(getattr(events, kind) for kind in kinds)), groups(kinds)
    assert timeline.group.tolist() == found
    assert timeline.first[timeline.group].tolist() == [found.index(group) for group in found]
    assert timeline.last[timeline.group].tolist() == [len(found) - 1 - found[::-1].index(group) for group in found]


def test_a_document_numbers_its_groups_in_the_same_way():
    session = debug(gated(), ["loss"], workspace=fed(2))
    kinds = [event.kind for event in session.events]
    assert [event.group for event in session.trace().events] == groups(kinds)


def test_no_events_have_no_groups():
    timeline = Timeline(codes_of([]))
    assert timeline.inside.tolist() == [NOWHERE]
    assert not np.size(timeline.group)
