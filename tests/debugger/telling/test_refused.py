"""A pass that is refused: its last event is about the operator and the versions at fault, and says the ways out."""

from collections.abc import Callable
from typing import Any

import pytest

import gradviz
from tests.debugger.answers.nets import overwritten


def in_place() -> gradviz.Session:
    net = gradviz.Net()
    net.Mul(["t", "w"], "t")
    return gradviz.debug(net, ["t"])


def without_a_rule() -> gradviz.Session:
    net = gradviz.Net()
    net.Tanh("x", "h")
    net.Floor("h", "y")
    return gradviz.debug(net, ["y"])


def without_a_gradient_of_an_output() -> gradviz.Session:
    net = gradviz.Net()
    net.LayerNorm("x", ["y", "mean", "deviation"])
    return gradviz.debug(net, ["mean"])


def failing_while_it_runs() -> gradviz.Session:
    net = gradviz.Net()
    net.Gather(["table", "rows"], "y")
    ws = gradviz.Workspace()
    ws.feed("table", [[1.0], [2.0]])
    ws.feed("rows", [7])
    return gradviz.debug(net, ["y"], workspace=ws)


CASES: dict[str, tuple[Callable[[], gradviz.Session], str, int, list[str], list[str]]] = {
    "overwritten by a later operator": (overwritten, "version_overwritten", 0, ["f2"], ["y@0", "y@1", "x@0"]),
    "overwritten in place": (in_place, "version_overwritten", 0, ["f0"], ["t@0", "t@1", "w@0"]),
    "no rule": (without_a_rule, "no_gradient_rule", 1, [], ["y@0", "h@0"]),
    "no gradient of an output": (
        without_a_gradient_of_an_output,
        "missing_output_gradient",
        0,
        [],
        ["y@0", "deviation@0", "mean@0", "x@0"],
    ),
    "while it runs": (failing_while_it_runs, "bad_value", 0, [], ["rows@0", "y@0", "table@0"]),
}


@pytest.mark.parametrize(("record", "kind", "forward", "lines", "blobs"), CASES.values(), ids=CASES)
def test_the_last_event_names_what_is_at_fault(
    record: Callable[[], gradviz.Session], kind: str, forward: int, lines: list[str], blobs: list[str]
) -> None:
    event = record().trace().events[-1]
    detail: dict[str, Any] = event.detail
    assert (event.kind, detail["error"]) == ("Failed", kind)
    assert (event.forward, event.lines, event.blobs) == (forward, lines, blobs)
    assert detail["ways_out"]
    assert all(f"  - {way}" in detail["explanation"] for way in detail["ways_out"])
