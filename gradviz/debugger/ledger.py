"""The ledger of an accumulation: how much of a blob's gradient came from where.

For contributions c_i with the sum t:

    share_i      = <c_i, t> / <t, t>          the shares add up to 1; negative: it pulls the other way
    cosine_i     = <c_i, t> / (|c_i| |t|)
    cancellation = 1 - |t| / sum_i |c_i|      0: all pull one way, 1: they annihilate each other
"""

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from ..operators.registry import Array
from ..program.events import Accumulated
from .trace import Contribution, Ledger, Number, number


def ledger(
    event: Accumulated,
    at: int,
    total: str,
    terms: Sequence[str],
    producers: Sequence[str],
    paths: Sequence[list[str]],
    arrays: Sequence[Array | None],
    whole: Array | None,
) -> Ledger:
    """The ledger of `event`, which happened at position `at`.

    Args:
        total: the sum, ``"a_grad@1"``.
        terms: the contributions, in the order of the event's.
        producers: who made each, ``"FCGradient #2"``.
        paths: a way from each to a y.
        arrays: the contributions' values, sparse ones made dense; where one is None all numbers are None.
        whole: the sum's value.
    """
    known = [array for array in arrays if array is not None]
    is_whole = whole is not None and len(known) == len(arrays)
    flat = [_flat(array) for array in known] if is_whole else []
    sum_ = _flat(whole) if is_whole else None
    contributions = []
    for slot, contribution in enumerate(event.contributions):
        norm = share = cosine = None
        if sum_ is not None:
            norm, share, cosine = _compare(flat[slot], sum_)
        contributions.append(
            Contribution(
                gradient=terms[slot],
                producer=producers[slot],
                of=contribution.index,
                how=contribution.how,
                path=paths[slot],
                norm=_said(norm),
                share=_said(share),
                cosine=_said(cosine),
            )
        )
    total_norm = cancellation = None
    if sum_ is not None:
        total_norm = _norm(sum_)
        parts = sum(_norm(part) for part in flat)
        cancellation = 1 - total_norm / parts if parts else None
    return Ledger(
        blob=f"{event.blob}@{event.version}",
        at=at,
        total=total,
        contributions=contributions,
        norm=_said(total_norm),
        cancellation=_said(cancellation),
    )


def _flat(array: Array) -> Array:
    return array.ravel().astype(np.float64)


def _norm(vector: Array) -> float:
    return math.sqrt(float(vector @ vector))


def _compare(part: Array, total: Array) -> tuple[float, float | None, float | None]:
    """Norm, share and cosine; the latter None where a norm is zero."""
    norm, whole, product = _norm(part), _norm(total), float(part @ total)
    share = product / whole**2 if whole else None
    cosine = product / (norm * whole) if norm and whole else None
    return norm, share, cosine


def _said(value: float | None) -> Number | None:
    return None if value is None else number(value)


class LedgerView:
    """A ledger as a person reads it: text in a terminal, a table in a notebook.

    Attributes:
        ledger: the numbers, as in the trace document.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def _rows(self) -> list[tuple[str, str, str, str, str, str]]:
        return [
            (c.gradient, _maker(c), _shown(c.norm), _percent(c.share), _shown(c.cosine), " → ".join(c.path))
            for c in self.ledger.contributions
        ]

    def __repr__(self) -> str:
        head = ("gradient", "from", "norm", "share", "cosine", "path")
        rows = [head, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return f"{self._title()}\n" + "\n".join(f"  {line}" for line in lines) + f"\n  {self._foot()}"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{word}</th>" for word in ("gradient", "from", "norm", "share", "cosine", "path"))
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        return (
            f"<table><caption>{escape(self._title())}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody><tfoot><tr><td colspan=6>{escape(self._foot())}</td></tr></tfoot></table>"
        )

    def _title(self) -> str:
        return f"Gradient of {self.ledger.blob} = sum of {len(self.ledger.contributions)} contributions"

    def _foot(self) -> str:
        return (
            f"{self.ledger.total}: norm {_shown(self.ledger.norm)}, cancellation {_percent(self.ledger.cancellation)}"
        )


def _maker(contribution: Contribution) -> str:
    return f"{contribution.producer}, passed through" if contribution.how == "passed" else contribution.producer


def _shown(value: int | float | str | None) -> str:
    if value is None:
        return "not computed"
    return value if isinstance(value, str) else f"{value:.4g}"


def _percent(value: int | float | str | None) -> str:
    if value is None:
        return "not computed"
    return value if isinstance(value, str) else f"{100 * value:.1f} %"
