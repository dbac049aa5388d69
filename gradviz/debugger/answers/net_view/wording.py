"""Lines and blob versions in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ...document import Line, Revision


def revision(line: Line, position: int) -> Revision:
    """How a line reads at a position; one that is not there yet, as it will at first."""
    return next((revision for revision in reversed(line.history) if revision.at <= position), line.history[0])


def text_of(line: Line, position: int | None = None) -> str:
    """A line as it reads at a position, or in the end: ``y@0 = Tanh(x@0)``."""
    now = line.history[-1] if position is None else revision(line, position)
    inputs, outputs = ", ".join(now.inputs), ", ".join(now.outputs)
    if line.kind == "passed":
        return f"{outputs} := {inputs}"
    return f"{outputs} = {line.type}({inputs})" if outputs else f"{line.type}({inputs})"


def number(line: Line) -> int:
    """The index of a forward line in its net."""
    return int(line.id.rpartition("f")[2])


def name_of(line: Line) -> str:
    """``FC #2`` for a forward line, ``FCGradient of #2`` for a backward one."""
    if line.role == "forward":
        return f"{line.type} #{number(line)}"
    return line.type if line.of is None else f"{line.type} of #{line.of}"


def told(line: Line) -> str:
    """A line with its place: ``#2 y@0 = Tanh(x@0)`` or ``x_grad@0 = TanhGradient(y@0, y_grad@0), of #2``."""
    if line.role == "forward":
        return f"#{number(line)} {text_of(line)}"
    return text_of(line) if line.of is None else f"{text_of(line)}, of #{line.of}"


def split(blob: str) -> tuple[str, int]:
    """A version as name and number."""
    name, _, version = blob.rpartition("@")
    return name, int(version)


def by_name(blobs: Iterable[str]) -> dict[str, list[int]]:
    """Versions by their names, in the order in which these come first; the numbers of each rise."""
    found: dict[str, set[int]] = defaultdict(set)
    for blob in blobs:
        name, version = split(blob)
        found[name].add(version)
    return {name: sorted(versions) for name, versions in found.items()}
