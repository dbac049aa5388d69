"""What conditions give, as text: the same in every language that evaluates them."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

from .evaluating import Result

NOT_COMPUTED = "not computed"
DIGITS = 4
"""Significant digits of a number that is not whole."""


def shown(value: Result) -> str:
    """A result as a person reads it; None is ``not computed``, never 0."""
    match value:
        case None:
            return NOT_COMPUTED
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case str():
            return value
    return _number(float(value))


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    exact = Decimal(value)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), ROUND_HALF_UP)
    exponent = rounded.adjusted()
    if -5 <= exponent < 6:
        text = f"{rounded:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, _ = rounded.as_tuple()
    mantissa = f"{digits[0]}.{''.join(map(str, digits[1:DIGITS]))}".rstrip("0").rstrip(".")
    return f"{'-' if sign else ''}{mantissa}e{exponent}"
