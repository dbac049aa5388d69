"""The ledger of a sum of gradients: how much of a blob's gradient came from where.

For contributions c_i with the sum t:

    share_i      = <c_i, t> / <t, t>          the shares add up to 1; negative: it pulls the other way
    cosine_i     = <c_i, t> / (|c_i| |t|)
    cancellation = 1 - |t| / sum_i |c_i|      0: all pull one way, 1: they annihilate each other

`vectors` says what these are of complex numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...operators.registry import Array
from ...program.events import How
from ..document import Contribution, Ledger, Number, number
from ..statistics import Vector, cancellation, compare, norm, vector


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
    sum_ = None if whole is None or any(array is None for array in arrays) else vector(whole)
    parts: list[Vector] = []
    contributions = []
    for term in terms:
        length = share = cosine = None
        if sum_ is not None and term.array is not None:
            parts.append(vector(term.array))
            length, share, cosine = compare(parts[-1], sum_)
        contributions.append(
            Contribution(
                gradient=term.gradient,
                producer=term.producer,
                of=term.of,
                how=term.how,
                path=term.path,
                norm=_said(length),
                share=_said(share),
                cosine=_said(cosine),
                frame=term.frame,
            )
        )
    return Ledger(
        blob=blob,
        at=at,
        total=total,
        contributions=contributions,
        norm=None if sum_ is None else number(norm(sum_)),
        cancellation=None if sum_ is None else _said(cancellation(parts, sum_)),
    )


def _said(value: float | None) -> Number | None:
    return None if value is None else number(value)
