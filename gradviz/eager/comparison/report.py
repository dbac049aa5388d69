"""What a comparison of the ways to differentiate a program has found, as text and as HTML."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

import msgspec
import numpy as np

from ...operators.registry import Array

MOST_STEPS = 60
"""So many functions are listed in their order."""

STYLE = "text-align:left;padding:0.1em 0.8em;border-bottom:1px solid currentColor;font-weight:inherit"
"""No colours: those of the page around it are right in light and dark."""


class Way(NamedTuple):
    """One way to differentiate a program.

    Attributes:
        name: ``"symbolic"``, ``"rank"`` or ``"tape"``.
        order: the functions in the order in which they are run backward: their numbers in the program and their types.
        gradients: leaf -> its gradient, None where it has none.
        first_seconds: of the first backward pass, in which what can be kept for later ones is planned.
        seconds: of the fastest of the later ones.
        peak_bytes: of the arrays that the backward pass made and that were there at the same time, at most.
    """

    name: str
    order: tuple[str, ...]
    gradients: Mapping[str, Array | None]
    first_seconds: float
    seconds: float
    peak_bytes: int


class Difference(NamedTuple):
    """A gradient that two ways do not agree on. `largest`: by how much an element differs; infinite: another shape."""

    leaf: str
    one: str
    other: str
    largest: float

    def __str__(self) -> str:
        return f"The gradient of {self.leaf} differs by {self.largest:.3g} between {self.one} and {self.other}."


class Comparison(msgspec.Struct, frozen=True, eq=False):
    """Ways to differentiate one program, side by side.

    Attributes:
        ways: way by name.
        differences: where their gradients differ by more than rounding.
    """

    ways: Mapping[str, Way]
    differences: tuple[Difference, ...]

    @property
    def agree(self) -> bool:
        """Whether all ways give the same gradients."""
        return not self.differences

    @property
    def verdict(self) -> str:
        """Whether the ways agree, in words."""
        if self.differences:
            return " ".join(map(str, self.differences))
        return f"All {len(self.ways)} ways give the same gradients."

    def __getitem__(self, way: str) -> Way:
        return self.ways[way]

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """What is told of each way, the order of functions at the end."""
        ways = self.ways.values()
        yield ("", *self.ways)
        yield ("functions run backward", *[str(len(way.order)) for way in ways])
        yield ("peak of gradient arrays", *[f"{way.peak_bytes:,} bytes" for way in ways])
        yield ("first pass", *[f"{way.first_seconds * 1e3:.3f} ms" for way in ways])
        yield ("later passes", *[f"{way.seconds * 1e3:.3f} ms" for way in ways])
        for leaf in next(iter(ways)).gradients:
            yield (f"norm of the gradient of {leaf}", *[_norm(way.gradients.get(leaf)) for way in ways])
        steps = max(len(way.order) for way in ways)
        for step in range(min(steps, MOST_STEPS)):
            label = "order" if step == 0 else ""
            yield (label, *[way.order[step] if step < len(way.order) else "" for way in ways])
        if steps > MOST_STEPS:
            yield ("", *[f"and {len(way.order) - MOST_STEPS} more" for way in ways])

    def __str__(self) -> str:
        rows = list(self._rows())
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.verdict, "", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = [[escape(cell) for cell in row] for row in self._rows()]
        cells = "".join(f"<th style='{STYLE}'>{cell}</th>" for cell in head)
        body = "".join(
            f"<tr><th style='{STYLE}'>{label}</th>{''.join(f'<td style={STYLE!r}>{cell}</td>' for cell in row)}</tr>"
            for label, *row in rows
        )
        return (
            f"<p>{escape(self.verdict)}</p><table style='border-collapse:collapse'>"
            f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
        )


def _norm(gradient: Array | None) -> str:
    return "none" if gradient is None else f"{float(np.linalg.norm(gradient.reshape(-1).astype(np.float64))):.6g}"
