"""What in the inputs of an operator makes its output zero or not finite, as far as statistics tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...program.wording import count_of
from ..document import Line, Value
from .forms import digits

Told = Sequence[tuple[str, Value | None]]
"""The inputs of an operator and what is known of them."""


def cause(line: Line, inputs: Told) -> str:
    """A sentence, or nothing where the statistics do not tell."""
    if line.role == "handover" and line.type == "ConstantFill":
        return "It stands for the gradient of what the branch that ran does not use."
    tell = _CAUSES.get(line.type)
    known = [(blob, value) for blob, value in inputs if value is not None]
    return tell(known) if tell is not None and len(known) == len(inputs) else ""


def _dead(inputs: Sequence[tuple[str, Value]]) -> str:
    blob, value = inputs[0]
    if not isinstance(value.max, int | float) or value.max > 0:
        return ""
    return f"All {value.size} elements of {blob} are 0 or less, the greatest {digits(value.max)}: a dead Relu."


def _negative(inputs: Sequence[tuple[str, Value]]) -> str:
    blob, value = inputs[0]
    if isinstance(value.min, int | float) and value.min < 0:
        return f"{blob} has negative elements, down to {digits(value.min)}."
    return f"{blob} has {count_of(value.zero, 'zero')}." if value.zero else ""


def _zeros(place: int) -> Callable[[Sequence[tuple[str, Value]]], str]:
    def tell(inputs: Sequence[tuple[str, Value]]) -> str:
        blob, value = inputs[min(place, len(inputs) - 1)]
        return f"{blob}, which it divides by, has {count_of(value.zero, 'zero')}." if value.zero else ""

    return tell


def _too_large(inputs: Sequence[tuple[str, Value]]) -> str:
    blob, value = inputs[0]
    return f"{blob} reaches up to {digits(value.max)}, too large for the exponential of {value.dtype}."


_CAUSES: dict[str, Callable[[Sequence[tuple[str, Value]]], str]] = {
    **dict.fromkeys(("Relu", "ReluN"), _dead),
    **dict.fromkeys(("Log", "Sqrt", "Pow", "Logit", "LogGradient"), _negative),
    **dict.fromkeys(("Div", "DivGradient"), _zeros(1)),
    **dict.fromkeys(("Reciprocal", "Rsqrt", "SqrtGradient", "ReciprocalGradient", "RsqrtGradient"), _zeros(0)),
    **dict.fromkeys(("Exp", "Expm1", "Sinh", "Cosh"), _too_large),
}
