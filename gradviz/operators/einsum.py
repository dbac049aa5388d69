"""Einsum: sums of products in Einstein's notation. It is linear in each factor, so its gradients are einsums too."""

import re
from math import prod
from string import ascii_letters
from typing import NamedTuple

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument
from .broadcasting import sum_to
from .gradients import Steps, gradient_name, gradient_of, gradient_operator
from .inference import misfit, need_floats, need_shape, result_dtype
from .registry import Array, ArraySpec, Gradients, RuleAnswer, in_single, operator, register_gradient
from .sums import MANY

_TERM = re.compile(r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*")


class Letters(NamedTuple):
    """An equation with a letter for every dimension, also for those that ``...`` stands for.

    Attributes:
        sizes: letter -> size; a factor that has size 1 there stretches.
    """

    factors: list[str]
    result: str
    sizes: dict[str, int]


def letters(op: Operator, *shapes: tuple[int, ...]) -> Letters:
    """The equation of `op` for factors of such shapes.

    Raises:
        RunError: ``bad_argument``, ``shape_mismatch``.
    """
    text = str(op.args.get("equation", "")).replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if not all(_TERM.fullmatch(term) for term in (*terms, result)):
        raise _no_equation(op, "has parts that are neither letters nor ...")
    if len(terms) != len(shapes):
        raise _no_equation(op, f"has {len(terms)} factors, and there are {len(shapes)} arrays")
    hidden = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)]
    for term, shape, count in zip(terms, shapes, hidden, strict=True):
        if count < 0 or (count and "..." not in term):
            raise misfit(f"{term!r} does not name the dimensions of an array of shape {shape}.")
    free = [letter for letter in ascii_letters if letter not in text][: max(hidden)]
    factors = [
        term.replace("...", "".join(free[len(free) - count :])) for term, count in zip(terms, hidden, strict=True)
    ]
    if not arrow:
        once = sorted(letter for letter in set(left) - {",", "."} if left.count(letter) == 1)
        result = "..." * ("..." in left) + "".join(once)
    result = result.replace("...", "".join(free))
    if len(set(result)) < len(result) or not set(result) <= set("".join(factors)):
        raise _no_equation(op, f"has a result {result!r} that names a dimension twice, or one that no factor has")
    return Letters(factors, result, _sizes(factors, shapes))


def _sizes(factors: list[str], shapes: tuple[tuple[int, ...], ...]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for factor, shape in zip(factors, shapes, strict=True):
        own = dict(zip(factor, shape, strict=True))
        if tuple([own[letter] for letter in factor]) != shape:
            raise misfit(f"{factor} names dimensions of several sizes by one letter in a factor of shape {shape}.")
        for letter, size in zip(factor, shape, strict=True):
            earlier = sizes.get(letter, 1)
            if 1 not in (earlier, size) and earlier != size:
                raise misfit(f"{letter} is of size {earlier} in one factor and {size} in another, of shape {shape}.")
            sizes[letter] = size if earlier == 1 else earlier
    return sizes


def _no_equation(op: Operator, why: str) -> RunError:
    return bad_argument(op, "equation", why, 'Write it like "ij,jk->ik" or "...i,i->...".')


def product_spec(op: Operator, *xs: ArraySpec) -> ArraySpec:
    need_floats(op, xs)
    _, result, sizes = letters(op, *[x.shape for x in xs])
    return ArraySpec(tuple([sizes[letter] for letter in result]), result_dtype(*xs))


@operator(
    "Einsum",
    "x, xs... -> y",
    "y = the sum of products that equation names, as `ij,jk->ik`",
    "dxₖ = the sum of products of dy and all other factors, over what xₖ does not have",
    infer=product_spec,
    args={"equation": ""},
)
@in_single
def einsum(op: Operator, *xs: Array) -> Array:
    """Sum of products: ``equation`` names the dimensions of each factor by letters, and those of the result.

    What the result does not name is summed over. ``...`` stands for dimensions without letters, which broadcast.
    Without ``->`` the result has the letters that occur once, in the order of the alphabet.
    """
    factors, result, sizes = letters(op, *[x.shape for x in xs])
    equation = f"{','.join(factors)}->{result}"
    if len(xs) == 1 and prod([size for letter, size in sizes.items() if letter not in result]) > MANY:
        # numpy adds the elements of one array one to the next, and products in blocks.
        return np.einsum(equation, xs[0].astype(np.float64, copy=False)).astype(xs[0].dtype, copy=False)
    return np.einsum(equation, *xs, optimize=True)


def position_of(op: Operator, count: int) -> int:
    """The factor whose gradient EinsumGradient gives."""
    position = int(op.args.get("position", 0))
    if not 0 <= position < count:
        raise bad_argument(op, "position", f"must be that of one of {count} factors")
    return position


def product_gradient_spec(op: Operator, dy: ArraySpec, *xs: ArraySpec) -> ArraySpec:
    need_floats(op, (dy, *xs))
    wanted = product_spec(op, *xs).shape
    need_shape("dy", dy, wanted)
    at = position_of(op, len(xs))
    return ArraySpec(xs[at].shape, result_dtype(dy, *xs[:at], *xs[at + 1 :]))


def einsum_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    names = [gradient_name(x) for x in op.inputs]
    return [
        gradient_operator(op, "EinsumGradient", [g_output[0], *op.inputs], [name], {**op.args, "position": at})
        for at, name in enumerate(names)
    ], [*names]


@gradient_of(
    "Einsum",
    "dy, x, xs... -> dx",
    "∂dy = Einsum with ∂dxₖ in place of xₖ; ∂xⱼ = the gradient of xⱼ in that",
    infer=product_gradient_spec,
    args={"equation": "", "position": 0},
    rule=einsum_rule,
)
@in_single
def einsum_gradient(op: Operator, dy: Array, *xs: Array) -> Array:
    """Gradient of the factor `position` of Einsum."""
    at = position_of(op, len(xs))
    factors, result, _ = letters(op, *[x.shape for x in xs])
    x, own = xs[at], "".join(dict.fromkeys(factors[at]))
    terms = [result, *factors[:at], *factors[at + 1 :]]
    named = "".join([letter for letter in own if any(letter in term for term in terms)])
    dx = np.einsum(f"{','.join(terms)}->{named}", dy, *xs[:at], *xs[at + 1 :], optimize=True)
    return sum_to(on_diagonals(dx, named, factors[at], x), x.shape)


def on_diagonals(g: Array, named: str, letters: str, x: Array) -> Array:
    """g, with a dimension for each letter of `named`, as a gradient of x, whose dimensions `letters` name.

    g is stretched along letters that it does not have; where a letter names several dimensions, it lies on their
    diagonal.
    """
    seen: dict[str, int] = {}
    where: Array | None = None
    for axis, letter in enumerate(letters):
        if letter in seen:
            equal = equal_places(x, seen[letter], axis)
            where = equal if where is None else where & equal
        else:
            seen[letter] = axis
    full = [1] * len(letters)
    for letter, size in zip(named, g.shape, strict=True):
        full[seen[letter]] = size
    wide = np.broadcast_shapes(tuple(full), x.shape)
    spread = np.broadcast_to(g.reshape(full), wide)
    return spread if where is None else np.where(where, spread, 0)


def equal_places(x: Array, one: int, other: int) -> Array:
    """Truth values that broadcast against x: whether places along two axes are equal."""
    places = np.arange(max(x.shape[one], x.shape[other]), like=x)
    sizes = [1] * x.ndim, [1] * x.ndim
    sizes[0][one] = sizes[1][other] = len(places)
    return places.reshape(sizes[0]) == places.reshape(sizes[1])


@register_gradient("EinsumGradient")
def einsum_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (dy, *xs), at = Steps(op), op.inputs, int(op.args.get("position", 0))
    equation = op.args.get("equation", "")
    with_g: Gradients = [*xs[:at], g_output[0], *xs[at + 1 :]]
    of_dy = do("Einsum", *with_g, equation=equation)
    of_xs = [
        None if other == at else do("EinsumGradient", dy, *with_g, equation=equation, position=other)
        for other in range(len(xs))
    ]
    return do.answer(of_dy, *of_xs)
