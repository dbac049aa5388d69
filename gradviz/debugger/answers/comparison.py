"""Holding a gradient against differences: which elements differ, which lie on a kink.

Differences are derivatives of a function of an array, one element at a time, without rules.

    forward    (f(x + h) - f(x)) / h         backward    (f(x) - f(x - h)) / h         central    their mean
    complex    Im f(x + ih) / h, exact to the last digits where f is analytic
    source of the last: Squire, Trapp, Using complex variables to estimate derivatives of real functions (1998)

Where f is smooth, forward and backward differ by h f'', which shrinks with h. Where they stay apart, x lies on a kink
or a jump: there is no derivative, and no gradient is right or wrong.

What measures them can be sent to other processes, and gives the same bits there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import pairwise
from math import hypot, inf, sqrt
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from ...operators.registry import Array
from ...program import GradvizError
from ..document import Number, number
from .rerun import NotCheckable, as_double

SMALLER = (1, 16, 256, 4096)
"""By what the step is divided, the first time and where one-sided differences disagree."""

TINY = 0.55
"""The power of a rounding at which second derivatives do not show, as a step."""

FINER = (1, 4, 16, 64)
"""By what the step is divided for a second look."""

APART = 1e-4
"""How far one-sided differences may differ, as a part of themselves, before smaller steps are taken."""

COMPLEX_STEP = 1e-30

ROUNDINGS = 1_000
"""Roundings of the largest number in a derivative that may add up in it."""

AMPLIFIED = 1e6
"""Roundings of the outputs at most that rounding on the way to them makes, and half of their digits; more is a jump."""

SAME = 4
"""How many times wider one-sided differences may become at a kink, as steps become smaller, or narrower."""

CANCELLED = 100
"""The same, of the largest number that a gradient was computed from."""

Outputs = list[Array]
Function = Callable[[Array], Outputs]


class Derivative(NamedTuple):
    """A derivative at one element.

    Attributes:
        value: it; at a kink the central difference, which means nothing there.
        noise: how far rounding, and the terms that a difference cuts off, may have moved it.
        step: the step used.
        is_kink: whether one-sided differences stay apart.
    """

    value: float
    noise: float
    step: float
    is_kink: bool


Measured = tuple[Derivative, Derivative | None]
"""The derivative at one element by central differences, and by a complex step; None: not tried, or not taken."""


class Differences:
    """Derivatives of the sum of `weights` times the outputs of `function` at `x`.

    Attributes:
        function: from an array like `x` to float arrays like `weights`.
        x: float64.
        dtypes: those of the outputs; where one holds no floating-point numbers, there is no derivative.
        is_finite: whether the outputs are, at `x`.

    Args:
        is_analytic: whether complex steps are tried.
    """

    def __init__(self, function: Function, x: Array, weights: Sequence[Array], *, is_analytic: bool = False) -> None:
        self._is_analytic = is_analytic
        self.function = function
        self.x = x
        self.weights = weights
        self._centre = function(x)
        self.dtypes = [out.dtype for out in self._centre]
        self.is_finite = all(bool(np.isfinite(out).all()) for out in self._centre)
        self._precision = max((float(np.finfo(dtype).eps) for dtype in self.dtypes if dtype.kind == "f"), default=0.0)

    @cached_property
    def floor(self) -> float:
        """What rounding alone may make of a derivative that is zero."""
        return ROUNDINGS * self._precision * self._size / max(1.0, float(np.abs(self.x).max(initial=0.0)))

    @cached_property
    def _size(self) -> float:
        """The largest number that is added up in a derivative, or 1 of what is smaller, times its weight."""
        sizes = [
            float((np.abs(weight) * np.maximum(np.abs(out), 1)).max(initial=0.0))
            for weight, out in zip(self.weights, self._centre, strict=True)
        ]
        return max(sizes, default=0.0)

    @cached_property
    def _noise(self) -> float:
        """What rounding on the way to the outputs makes of them: second differences at steps too small for more.

        They are not smaller still: what is near the limit of a function, as of tanh, is rounded alike within them.
        Where there is a jump, they are far larger, and say nothing of it.
        """
        scale = self._precision**TINY * np.maximum(1.0, np.abs(self.x))
        largest = 0.0
        for steps in np.random.default_rng(SEED).uniform(-2, 2, (2, *self.x.shape)) * scale:
            above, below = (self.function(self.x + sign * steps) for sign in (1, -1))
            if self._is_alike(above) and self._is_alike(below):
                outputs = zip(self.weights, above, self._centre, below, strict=True)
                apart = hypot(*(float(np.linalg.norm(w * (up - 2 * at + down))) for w, up, at, down in outputs))
                largest = max(largest, apart) if np.isfinite(apart) else inf
        return largest if largest <= self._most_noise else 0.0

    @property
    def _most_noise(self) -> float:
        """What rounding makes of the outputs at most; more is a jump."""
        return min(AMPLIFIED * self._precision, sqrt(self._precision)) * self._size

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: the noise, too, which each of the tasks there would measure anew."""
        with suppress(NotCheckable, GradvizError):
            _ = self._noise
        return vars(self)

    def __call__(self, place: int) -> Measured | Exception:
        """What is measured at element number `place`; or why nothing can be."""
        try:
            with np.errstate(all="ignore"):  # in a process of its own nobody else says so
                return self.at(place), self.complex_at(place) if self._is_analytic else None
        except (NotCheckable, GradvizError) as error:
            return error

    def at(self, place: int) -> Derivative:
        """The derivative with respect to element number `place`."""
        step = self._precision ** (1 / 3) * max(1.0, abs(float(self.x.flat[place])))
        found: list[tuple[float, Derivative]] = []
        for divisor in SMALLER:
            gap, derivative = self._with(place, step / divisor)
            found.append((gap, derivative))
            if gap <= APART * abs(derivative.value) + 10 * derivative.noise:
                break
        else:
            return self._apart(found)
        cut_off = abs(derivative.value - found[-2][1].value) if len(found) > 1 else 0.0
        return derivative._replace(noise=derivative.noise + (cut_off if np.isfinite(cut_off) else 0.0))

    def _apart(self, found: Sequence[tuple[float, Derivative]]) -> Derivative:
        """The derivative where one-sided differences are apart at each of the steps, with how far they are.

        As steps become smaller, the gap at a kink stays as it is, and that at a jump widens. So does what rounding
        makes, which is far less.
        """
        gaps = [gap for gap, _ in found]
        is_kink = gaps[-1] == inf or max(gaps[1:]) <= SAME * min(gaps[1:])
        is_jump = gaps[-1] > gaps[-2] and gaps[-1] * found[-1][1].step > self._most_noise
        narrowest, derivative = min(found, key=itemgetter(0))
        return derivative._replace(noise=max(derivative.noise, narrowest), is_kink=is_kink or is_jump)

    def closer(self, place: int, step: float) -> Derivative | None:
        """The central difference that a smaller step changes least, which it may be off; None: none can be measured.

        A second look from a step on, before a gradient is said to differ: where third derivatives are large, the step
        may be, too.
        """
        try:
            found = [self._with(place, step / divisor)[1] for divisor in FINER]
        except (NotCheckable, GradvizError):
            return None
        every = [two._replace(noise=abs(one.value - two.value) + two.noise) for one, two in pairwise(found)]
        return min((one for one in every if np.isfinite(one.noise)), key=attrgetter("noise"), default=None)

    def _with(self, place: int, step: float) -> tuple[float, Derivative]:
        """How far the one-sided differences are apart, and the central one."""
        above, below = (self.function(self._moved(place, sign * step)) for sign in (1, -1))
        if not (self._is_alike(above) and self._is_alike(below)):  # outputs of another shape: it has no slope here
            return inf, Derivative(float("nan"), 0.0, step, False)
        forward = backward = noise = 0.0
        size = abs(float(self.x.flat[place]))  # what the function computes on the way may be as large
        for weight, up, centre, down in zip(self.weights, above, self._centre, below, strict=True):
            forward += float((weight * (up - centre)).sum()) / step
            backward += float((weight * (centre - down)).sum()) / step
            scale = np.abs(weight) * np.maximum(np.maximum(np.abs(up), np.abs(down)), size)
            noise += self._precision * float(np.linalg.norm(scale)) / step
        gap, noise = abs(forward - backward), max(noise, self._noise / step)
        value = (forward + backward) / 2
        # On one side of it the function may not be defined.
        return gap if np.isfinite(value) else inf, Derivative(value, noise, step, False)

    def _is_alike(self, outputs: Sequence[Array]) -> bool:
        """Whether outputs have the shapes that they have at `x`."""
        return all(out.shape == centre.shape for out, centre in zip(outputs, self._centre, strict=True))

    def _moved(self, place: int, by: complex) -> Array:
        moved = self.x.astype(complex) if isinstance(by, complex) else self.x.copy()
        moved.flat[place] += by
        return moved

    def complex_at(self, place: int) -> Derivative | None:
        """The same by a complex step; None where the function does not take complex numbers."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                outputs = self.function(self._moved(place, complex(0, COMPLEX_STEP)))
        except Exception:
            return None
        if not self._is_alike(outputs):
            return None
        terms = [weight * np.imag(out) / COMPLEX_STEP for weight, out in zip(self.weights, outputs, strict=True)]
        value = float(sum(term.sum() for term in terms))
        noise = self._precision * float(sum(np.abs(term).sum() for term in terms))
        return Derivative(value, noise, COMPLEX_STEP, False) if np.isfinite(value) else None


Verdict = Literal["agrees", "differs", "kink", "not checkable"]
Method = Literal["central differences", "complex step"]

MOST = 64
"""Elements of a blob that are checked."""

DIRECTIONS = 3
"""Along which a blob with more elements is checked as a whole."""

SEED = 0

TOLERANCES = {"float64": (1e-5, 1e-8), "float32": (1e-2, 1e-4), "float16": (5e-2, 1e-2)}
"""dtype of a gradient -> how far it may differ, as a part of itself and of the greatest element of its blob's."""

EXACT = 1e-7
"""The first of these where a complex step is used and the gradient is float64."""

LEAST = 1e-3
"""The part of its blob's greatest gradient below which an element's error is given as a part of that."""

NOISES = 20
"""How often the noise of rounding a difference may be off."""


class Checked(msgspec.Struct, frozen=True):
    """The gradient of one blob, compared with differences.

    Attributes:
        blob: its version.
        verdict: "differs" where one element does; "kink" where one lies on a kink, and no other differs; "not
            checkable" where rounding hides all of it from differences.
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


class _Gap(NamedTuple):
    """An element of a gradient beside a difference.

    Attributes:
        size: how far they are apart.
        largest: the greater one of them, without its sign.
        slack, noise: how far they may be, by the tolerances, and by rounding.
        is_differing: whether they are farther apart than that.
    """

    size: float
    largest: float
    slack: float
    noise: float
    is_differing: bool


class Comparison:
    """The gradient of a blob, and the differences that it is compared with.

    Attributes:
        blob: its version.
        differences: of the function that the gradient is to be that of.
        places: the elements at which they are wanted.

    Args:
        function, x, weights, is_analytic: as of `Differences`.
        around: says, where the gradient differs, as how large an element it was computed from: where such elements
            cancel, roundings of them remain.
        most: elements; of more so many are drawn.
        dtypes: in which it was computed, too: the gradient has no more digits than the narrowest of them.

    Raises:
        NotCheckable: there are no differences.
    """

    def __init__(
        self,
        blob: str,
        function: Function,
        x: Array,
        weights: Sequence[Array],
        gradient: Array,
        *,
        is_analytic: bool = False,
        around: Callable[[], float] = float,
        most: int = MOST,
        dtypes: Collection[str] = (),
    ) -> None:
        if gradient.shape != x.shape:
            raise NotCheckable(f"{blob} has the shape {x.shape}, and its gradient {gradient.shape}.")
        if gradient.dtype.kind != "f":
            raise NotCheckable(f"The gradient of {blob} holds {gradient.dtype}, no floating-point numbers.")
        self.blob = blob
        self._gradient = gradient
        self._around = around
        self._dtypes = dtypes
        float_dtypes = [dtype for dtype in (str(gradient.dtype), *dtypes) if dtype in TOLERANCES]
        self._tolerances = max([TOLERANCES[dtype] for dtype in float_dtypes], default=TOLERANCES["float64"])
        self._precision = max([float(np.finfo(dtype).eps) for dtype in float_dtypes], default=0.0)
        self.differences = Differences(function, x, weights, is_analytic=is_analytic)
        if without := [dtype for dtype in self.differences.dtypes if dtype.kind != "f"]:
            raise NotCheckable(f"What {blob} leads to holds {without[0]}, which has no differences.")
        if not self.differences.is_finite:
            raise NotCheckable(f"What {blob} leads to is not finite: session.provenance says why.")
        self.places = list(range(x.size))
        if x.size > most:
            self.places = sorted(np.random.default_rng(SEED).choice(x.size, most, replace=False).tolist())

    @cached_property
    def _rounding(self) -> float:
        """What may remain where all that the gradient was computed from cancels, which infinities do not."""
        around = self._around()
        return CANCELLED * self._precision * around if np.isfinite(around) else 0.0

    def along(self) -> Comparison:
        """The same along a few random directions, each of which moves all elements, by parts of their size."""
        function, x, weights = self.differences.function, self.differences.x, self.differences.weights
        signs = np.random.default_rng(SEED).integers(0, 2, (DIRECTIONS, x.size), dtype=np.int8) * 2 - 1
        size = float(np.sqrt(np.square(x).mean())) or 1.0
        slopes = size * (signs @ as_double(self._gradient).reshape(-1))
        return Comparison(
            self.blob,
            partial(_stepped, function, x, size, signs),
            np.zeros(DIRECTIONS),
            weights,
            slopes.astype(self._gradient.dtype),
            around=lambda: self._around() * size * float(np.sqrt(x.size)),
            dtypes=self._dtypes,
        )

    def _gap(self, ours: float, derivative: Derivative, relative: float, absolute: float) -> _Gap:
        size, largest = abs(ours - derivative.value), max(abs(ours), abs(derivative.value))
        slack, noise = relative * largest + absolute, NOISES * derivative.noise + self.differences.floor
        # Of an infinity every part is one, too, and would allow for anything.
        is_near = np.isfinite(size) and (size <= slack + noise or size <= slack + noise + self._rounding)
        return _Gap(size, largest, slack, noise, not is_near)

    def judged(self, outcomes: Sequence[Measured | Exception]) -> Checked:
        """The gradient compared with the differences at `places`; raises why one could not be measured there."""
        gradient, places = self._gradient, self.places
        relative, absolute = self._tolerances
        ours = as_double(gradient).reshape(-1)
        scale = float(np.abs(ours[np.isfinite(ours)]).max(initial=0.0))
        measured, method = _more_exact(outcomes, scale)
        if method == "complex step" and gradient.dtype == np.float64:
            relative = EXACT
        differing, is_seen, is_apart, worst, error = 0, False, False, -1, (False, -1.0)
        for at, (place, derivative) in enumerate(zip(places, measured, strict=True)):
            if derivative.is_kink:
                continue
            gap = self._gap(ours[place], derivative, relative, absolute * scale)
            if gap.is_differing and method == "central differences":
                measured[at] = self.differences.closer(place, derivative.step) or derivative
                gap = self._gap(ours[place], measured[at], relative, absolute * scale)
            differing += gap.is_differing
            is_seen = is_seen or gap.noise <= scale
            is_apart = is_apart or gap.slack < gap.size
            off = float(gap.size / max(gap.largest, LEAST * scale)) if gap.largest else 0.0
            off = off if np.isfinite(off) else inf
            if (gap.is_differing, off) > error:
                worst, error = at, (gap.is_differing, off)
        kinks = sum(derivative.is_kink for derivative in measured)
        is_any = worst >= 0
        is_hidden = is_apart and not is_seen and self._rounding < scale  # else it is zero but for its own roundings
        place = places[worst] if is_any else 0
        return Checked(
            blob=self.blob,
            verdict="differs" if differing else "kink" if kinks else "not checkable" if is_hidden else "agrees",
            checked=len(places),
            size=gradient.size,
            differing=differing,
            kinks=kinks,
            error=number(error[1]) if is_any else None,
            index=[int(axis) for axis in np.unravel_index(place, gradient.shape)] if is_any else [],
            gradient=number(float(ours[place])) if is_any else None,
            difference=number(measured[worst].value) if is_any else None,
            method=method,
            step=number(measured[worst].step) if measured else 0.0,
        )


def _stepped(function: Function, x: Array, size: float, signs: Array, steps: Array) -> Outputs:
    """A function as one of steps along directions from `x`, each of which moves all elements."""
    return function(x + size * (steps @ signs).reshape(x.shape))


def _more_exact(outcomes: Sequence[Measured | Exception], scale: float) -> tuple[list[Derivative], Method]:
    """The derivatives by a complex step where they are there and no central difference contradicts them."""
    measured: list[Measured] = []
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
        measured.append(outcome)
    exact: list[Derivative] = []
    for central, complex_step in measured:
        slack = APART * abs(central.value) + NOISES * central.noise + 1e-8 * scale
        is_near = complex_step is not None and abs(complex_step.value - central.value) <= slack
        if complex_step is None or not (central.is_kink or is_near):
            return [central for central, _ in measured], "central differences"
        exact.append(central if central.is_kink else complex_step)
    return exact, "complex step" if exact else "central differences"
