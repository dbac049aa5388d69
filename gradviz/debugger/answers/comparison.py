"""Holding a gradient against differences: which elements differ, which lie on a kink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np

from ...operators.registry import Array
from ..document import Number
from ..document import number as told
from .differences import APART, Derivative, Differences, sampled
from .net_view.rerun import NotCheckable, as_double

Verdict = Literal["agrees", "differs", "kink", "not checkable"]
Method = Literal["central differences", "complex step"]

MOST = 64
"""Elements of a blob that are checked."""

SEED = 0

TOLERANCES = {"float64": (1e-5, 1e-8), "float32": (1e-2, 1e-4), "float16": (5e-2, 1e-2)}
"""dtype of a gradient -> how far it may differ, as a part of itself and of the greatest element of its blob's."""

EXACT = 1e-7
"""The first of these where a complex step is used and the gradient is float64."""

LEAST = 1e-3
"""The part of its blob's greatest gradient below which an element's error is told as a part of that."""

NOISES = 20
"""How often the noise of rounding a difference may be off."""


class Checked(msgspec.Struct, frozen=True):
    """The gradient of one blob, held against differences.

    Attributes:
        blob: its version.
        verdict: "differs" where one element does; "kink" where one lies on a kink, and no other differs.
        checked, size: how many elements were, of how many.
        differing, kinks: how many of these differ, or lie on a kink.
        error: the largest relative error of an element that lies on no kink.
        index, gradient, difference: where that is, and the two numbers.
        method, step: how the derivative was measured there.
    """

    blob: str
    verdict: Verdict
    checked: int
    size: int
    differing: int
    kinks: int
    error: Number | None
    index: list[int]
    gradient: Number | None
    difference: Number | None
    method: Method
    step: Number


def compared(
    blob: str,
    function: Callable[[Array], list[Array]],
    x: Array,
    weights: Sequence[Array],
    gradient: Array,
    *,
    is_analytic: bool,
) -> Checked:
    """Hold `gradient` against differences of `function` at `x`; a complex step is tried where it `is_analytic`."""
    if gradient.shape != x.shape:
        raise NotCheckable(f"{blob} has the shape {x.shape}, and its gradient {gradient.shape}.")
    relative, absolute = TOLERANCES.get(str(gradient.dtype), TOLERANCES["float64"])
    ours = as_double(gradient).reshape(-1)
    scale = float(np.abs(ours).max()) if ours.size else 0.0
    differences = Differences(function, x, weights)
    if without := [dtype for dtype in differences.dtypes if dtype.kind != "f"]:
        raise NotCheckable(f"What {blob} leads to holds {without[0]}, which has no differences.")
    if not differences.is_finite:
        raise NotCheckable(f"What {blob} leads to is not finite: session.provenance says why.")
    places = list(sampled(x.size, MOST, SEED))
    central = [differences.at(place) for place in places]
    exact = [differences.complex_at(place) for place in places] if is_analytic else []
    measured, method = _more_exact(central, exact, scale)
    if method == "complex step" and gradient.dtype == np.float64:
        relative = EXACT
    differing, worst, error = 0, -1, (False, -1.0)
    for at, (place, derivative) in enumerate(zip(places, measured, strict=True)):
        if derivative.is_kink:
            continue
        apart, largest = abs(ours[place] - derivative.value), max(abs(ours[place]), abs(derivative.value))
        slack = relative * largest + absolute * scale + NOISES * derivative.noise + differences.floor
        is_differing = not apart <= slack
        differing += is_differing
        found = float(apart / max(largest, LEAST * scale)) if largest else 0.0
        found = found if np.isfinite(found) else float("inf")
        if (is_differing, found) > error:
            worst, error = at, (is_differing, found)
    kinks = sum(derivative.is_kink for derivative in measured)
    is_any = worst >= 0
    place = places[worst] if is_any else 0
    return Checked(
        blob=blob,
        verdict="differs" if differing else "kink" if kinks else "agrees",
        checked=len(places),
        size=x.size,
        differing=differing,
        kinks=kinks,
        error=told(error[1]) if is_any else None,
        index=[int(axis) for axis in np.unravel_index(place, x.shape)] if is_any else [],
        gradient=told(float(ours[place])) if is_any else None,
        difference=told(measured[worst].value) if is_any else None,
        method=method,
        step=told(measured[worst].step) if measured else 0.0,
    )


def _more_exact(
    central: Sequence[Derivative], exact: Sequence[Derivative | None], scale: float
) -> tuple[list[Derivative], Method]:
    """The derivatives by a complex step where they are there and no central difference contradicts them."""
    found: list[Derivative] = []
    for one, two in zip(central, exact, strict=False):
        slack = APART * abs(one.value) + NOISES * one.noise + 1e-8 * scale
        if two is None or not (one.is_kink or abs(two.value - one.value) <= slack):
            return list(central), "central differences"
        found.append(one if one.is_kink else two)
    return (found, "complex step") if found else (list(central), "central differences")
