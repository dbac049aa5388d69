"""What the operator types of a recording compute, once for each type, as the operator table has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...operators import lookup

if TYPE_CHECKING:
    from .schema import Trace


class Formula(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Formula and derivative of an operator type, about the names of its inputs and outputs.

    Both are plain text: "y = x·wᵀ + b", "dw = dyᵀ·x, db = Σᵢ dyᵢ, dx = dy·w"; empty: not known.
    """

    formula: str
    derivative: str = ""
    inputs: list[str] = []
    """As a signature has them: ``b?`` may be left out, ``xs...`` stands for any number, also none."""
    outputs: list[str] = []


def formulas_of(trace: Trace) -> dict[str, Formula]:
    """The formulas of the operator types that occur in `trace`, by type; types without one are left out."""
    nested = (line for net in trace.subnets for line in (*net.forward, *net.backward))
    types = dict.fromkeys(line.type for line in (*trace.forward, *trace.backward, *nested))
    return {type: found for type in types if (found := _formula_of(type)) is not None}


def _formula_of(type: str) -> Formula | None:
    """What the operator table says of `type`; None: it says nothing, or not what the inputs are called."""
    known = lookup(type)
    if known is None or known.inputs is None or known.outputs is None or not known.formula:
        return None
    return Formula(
        formula=known.formula,
        derivative=known.derivative,
        inputs=known.inputs.written(),
        outputs=known.outputs.written(),
    )
