"""What a benchmark answers: a figure, what it is compared with, and what it should be."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import floor, log10
from typing import Any, Literal


@dataclass(frozen=True)
class Target:
    """The most that a figure, or its ratio to the peer's, should be."""

    of: Literal["figure", "ratio"]
    at_most: float


@dataclass(frozen=True)
class Figure:
    """One measurement.

    Attributes:
        name: what was measured.
        size: on how much.
        figure: what it took, in `unit`.
        peer, peer_figure: what does the same work, and what it took in the same run; None: compared with nothing.
        target: None: shown without a judgement.
    """

    name: str
    size: str
    figure: float
    unit: str
    peer: str | None = None
    peer_figure: float | None = None
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """How many times what the peer took."""
        return None if self.peer_figure is None else self.figure / self.peer_figure

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None:
            return None
        measured = self.figure if self.target.of == "figure" else self.ratio
        return measured is not None and measured <= self.target.at_most

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain dicts and numbers, with its ratio and judgement."""
        return {**asdict(self), "ratio": self.ratio, "ok": self.ok}


@dataclass(frozen=True)
class Skipped:
    """A peer that could not be measured."""

    name: str
    peer: str
    why: str


Answer = Figure | Skipped


def table(figures: Iterable[Figure]) -> str:
    """The figures under each other, numbers to the right."""
    rows: list[tuple[str, ...]] = [
        ("benchmark", "size", "figure", "unit", "peer", "its figure", "ratio", "target", "ok?")
    ]
    rows += [_row(figure) for figure in figures]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    right = {2, 5, 6}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _row(figure: Figure) -> tuple[str, ...]:
    target = figure.target
    unit = figure.unit if target and target.of == "figure" else "x"
    return (
        figure.name,
        figure.size,
        _digits(figure.figure),
        figure.unit,
        figure.peer or "",
        "" if figure.peer_figure is None else _digits(figure.peer_figure),
        "" if figure.ratio is None else _digits(figure.ratio),
        f"<= {target.at_most:g} {unit}" if target else "",
        "" if figure.ok is None else "yes" if figure.ok else "NO",
    )


def _digits(number: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{number:.{max(0, 2 - floor(log10(number)))}f}" if number > 0 else f"{number:g}"
