"""Random nets: gradviz' gradients equal autograd's, and what it refuses is refused on grounds that autograd bears out.

A failure prints the net, made as small as hypothesis could.
"""

from collections import Counter

import pytest
from hypothesis import given, note, settings

from gradviz.operators import lookup

pytest.importorskip("torch", reason="the reference is PyTorch's autograd: pip install torch")

from tests.gradient.census import MOST_REFUSED, assert_rich, features
from tests.gradient.nets.strategy import RandomNet, random_nets
from tests.gradient.nets.themes import THEMES, Theme
from tests.gradient.reference.run import CONSTANT, FORMULAS, WITHOUT_RULE
from tests.gradient.truth import Truth
from tests.gradient.verdict import COMPARED, judged
from tests.random_cases import counts


@counts(100)
@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_gradients_are_those_of_autograd(theme: Theme, count: int) -> None:
    """Of the nets of a theme `count` percent."""
    census: Counter[str] = Counter()
    examples = theme.examples * count // 100

    @settings(max_examples=examples, derandomize=True, deadline=None, database=None)
    @given(random_nets(theme))
    def agrees(case: RandomNet) -> None:
        note(repr(case))
        truth = Truth(case)
        outcome = judged(truth)
        census.update([outcome, *(features(truth) if outcome == COMPARED else ())])

    agrees()
    if examples == theme.examples:
        assert_rich(theme, census)


def test_two_thousand_nets_are_drawn_of_which_most_are_differentiated() -> None:
    drawn = sum(theme.examples for theme in THEMES)
    assert drawn >= 2000
    assert sum(theme.examples * MOST_REFUSED[theme.name] for theme in THEMES) <= 0.35 * drawn


def test_the_reference_and_gradviz_agree_on_where_gradients_end() -> None:
    ours = {type: lookup(type) for type in FORMULAS if type not in ("Print", "ZeroGradient")}
    assert all(ours.values())
    assert {type for type, known in ours.items() if known.constant} == CONSTANT
    assert {type for type, known in ours.items() if known.rule is None and not known.constant} == WITHOUT_RULE
