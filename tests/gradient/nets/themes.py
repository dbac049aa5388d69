"""What random nets are made of: families of calls, and themes that mix them differently."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from . import elementwise_calls as elementwise
from . import row_calls as rows
from . import shape_calls as shapes
from .call import Call
from .pick import Pick

Proposal = Callable[[Pick], Call]
"""Draws a call that fits the blobs that are there; raises NothingFits where there is none."""

FAMILIES: dict[str, tuple[Proposal, ...]] = {
    "functions": (elementwise.function,),
    "pairs": (elementwise.pair,),
    "joins": (elementwise.several, elementwise.several, elementwise.weighted_sum),
    "passing": (elementwise.passed, elementwise.passed, elementwise.dropout, elementwise.cast),
    "shapes": (shapes.reshape, shapes.dimensions, shapes.dimensions, shapes.transpose, shapes.cut, shapes.stretch),
    "parts": (shapes.concat, shapes.split),
    "products": (shapes.matmul, shapes.layer, shapes.scaling),
    "reductions": (shapes.reduction, shapes.reduction, shapes.side_reduction, shapes.line_maximum, shapes.total),
    "comparisons": (rows.two_arrays, rows.square_root_divide),
    "layers": (rows.softmax, rows.normalization, rows.normalization, rows.channels, rows.recurrent_unit),
    "losses": (rows.softmax_with_loss, rows.probability_loss, rows.logits_loss, rows.ranking_loss),
    "images": (shapes.picture,),
    "tables": (rows.gather, rows.gather, rows.sparse_lengths, rows.segments),
    "rows": (rows.lengths, rows.sparse_to_dense, rows.batch_gather, rows.picked_out),
    "choices": (elementwise.choice, elementwise.question),
    "constants": (elementwise.constant,),
    "stops": (elementwise.stop_gradient,),
    "zeros": (elementwise.zero_gradient,),
    "without rule": (elementwise.without_rule, rows.scatter_assign),
}

WEIGHTS: dict[str, float] = {
    "functions": 7,
    "pairs": 6,
    "joins": 5,
    "passing": 3,
    "shapes": 4,
    "parts": 3,
    "products": 4,
    "reductions": 4,
    "comparisons": 2,
    "layers": 4,
    "losses": 4,
    "images": 0.7,
    "tables": 2,
    "rows": 2,
    "choices": 2,
    "constants": 1.5,
    "stops": 0.6,
    "zeros": 0.5,
    "without rule": 0.25,
}


class Theme(NamedTuple):
    """A mixture of nets.

    Attributes:
        name: what it is about.
        examples: how many nets a test run draws.
        weights: families that are more or less frequent than in `WEIGHTS`.
        naming: how many outputs in a hundred go in place, overwrite some blob, or take a name that gradients have.
        plain_ys: how many nets in a hundred are differentiated from all their results.
        skips: how many nets in a hundred leave their first operators out.
    """

    name: str
    examples: int
    weights: Mapping[str, float] = {}
    naming: Mapping[str, int] = {"in place": 3, "overwrite": 2, "clash": 2}
    plain_ys: int = 50
    skips: int = 5

    @property
    def all_weights(self) -> dict[str, float]:
        return {**WEIGHTS, **self.weights}


THEMES = (
    Theme("everything", 700),
    Theme(
        "overwriting",
        500,
        weights={"functions": 12, "joins": 9, "passing": 6, "comparisons": 1, "layers": 2, "stops": 3},
        naming={"in place": 13, "overwrite": 6, "clash": 3},
    ),
    Theme("tables", 450, weights={"tables": 16, "rows": 4, "passing": 5, "joins": 6}),
    Theme("ys", 450, naming={"in place": 4, "overwrite": 2, "clash": 10}, plain_ys=5, skips=30),
    Theme("constants", 300, weights={"stops": 3, "zeros": 3, "constants": 3, "choices": 4, "without rule": 1}),
)
