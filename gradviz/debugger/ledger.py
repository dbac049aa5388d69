"""The ledger of a sum of gradients: how much of a blob's gradient came from where.

For contributions c_i with the sum t:

    share_i      = <c_i, t> / <t, t>          the shares add up to 1; negative: it pulls the other way
    cosine_i     = <c_i, t> / (|c_i| |t|)
    cancellation = 1 - |t| / sum_i |c_i|      0: all pull one way, 1: they annihilate each other
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..operators.registry import Array
from ..program.events import How
from .trace_parts import Contribution, Ledger, Number, number


class Term(NamedTuple):
    """One gradient that went into a sum.

    Attributes:
        gradient: its version, ``"a_grad@0"``.
        producer: who made it, ``"FCGradient #2"`` or ``"iteration 3"``.
        of: the forward operator it came through.
        how: how it came to be.
        path: a way from there to a y.
        array: its value, a sparse one made dense; None: not computed.
        frame: the run of a loop that made it.
    """

    gradient: str
    producer: str
    of: int | None
    how: How
    path: list[str]
    array: Array | None
    frame: int | None = None


def ledger(blob: str, at: int, total: str, terms: Sequence[Term], whole: Array | None) -> Ledger:
    """The ledger of the gradient of `blob`, added up at position `at`.

    Args:
        total: the sum, ``"a_grad@1"``.
        terms: the contributions; where the value of one is not known, no number is.
        whole: the sum's value.
    """
    arrays = [term.array for term in terms]
    sum_ = None if whole is None or any(array is None for array in arrays) else _flat(whole)
    norms: list[float] = []
    contributions = []
    for term in terms:
        norm = share = cosine = None
        if sum_ is not None and term.array is not None:
            norm, share, cosine = _compare(_flat(term.array), sum_)
            norms.append(norm)
        contributions.append(
            Contribution(
                gradient=term.gradient,
                producer=term.producer,
                of=term.of,
                how=term.how,
                path=term.path,
                norm=_said(norm),
                share=_said(share),
                cosine=_said(cosine),
                frame=term.frame,
            )
        )
    total_norm = cancellation = None
    if sum_ is not None:
        total_norm, parts = _norm(sum_), sum(norms)
        cancellation = 1 - total_norm / parts if parts else None
    return Ledger(
        blob=blob,
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
