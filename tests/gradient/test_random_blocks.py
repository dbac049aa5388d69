"""Random nets in blocks: gradients are those of autograd over what ran, and so they are in single assignment form.

The operators are those of all random nets: in place, overwriting with other shapes, under any names. Each run draws new
nets; a failure prints its seed, and with ``GRADVIZ_SEED`` it is drawn again.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the reference is PyTorch's autograd: pip install torch")

from gradviz import IR, GradientError, Net, Workspace
from gradviz.program import Gradient
from tests.gradient.agreement import assert_gradient_agrees, assert_no_gradient, assert_value_agrees
from tests.gradient.blocks import FEEDS, Block, Wrapping, lowered
from tests.gradient.nets.strategy import RandomNet, random_nets
from tests.gradient.nets.themes import THEMES
from tests.gradient.reference.run import CONSTANT, FIRST_OUTPUT_ONLY
from tests.gradient.truth import Truth
from tests.handwritten import dense, ran
from tests.random_cases import counts, fresh_seed

EXAMPLES = 120
COMPARED = "compared"
LEAST = {COMPARED: 0.2, "Do": 0.2, "If": 0.02, "Else": 0.1, "While": 0.08, "Not": 0.06, "Never": 0.06, "again": 0.02}
"""What there is in a set of nets, with the share of them that must have it: far below what is drawn."""

MIXED = tuple(theme for theme in THEMES if theme.name in ("everything", "overwriting"))
ONE_SIDED = (
    CONSTANT
    | FIRST_OUTPUT_ONLY
    | {
        "ZeroGradient",
        "NegateGradient",
        "Cast",
        "WeightedSum",
        "Where",
        "SquareRootDivide",
        "CrossEntropy",
        "SparseLengthsWeightedSum",
        "LengthsWeightedSum",
        "BernoulliJSD",
    }
    | {"LabelCrossEntropy", "SigmoidCrossEntropyWithLogits", "WeightedSigmoidCrossEntropyWithLogits", "SoftmaxWithLoss"}
)
"""Types some of whose inputs or outputs have no gradient as they are declared, though differences see them."""


@counts(EXAMPLES)
@pytest.mark.parametrize("theme", MIXED, ids=lambda theme: theme.name)
def test_gradients_in_blocks_are_those_of_autograd(theme, count: int) -> None:
    census: Counter[str] = Counter()

    @seed(fresh_seed())
    @settings(max_examples=count, deadline=None, database=None)
    @given(random_nets(theme), st.integers(0, 2**32 - 1))
    def agrees(case: RandomNet, blocks: int) -> None:
        case = case._replace(skip=0)
        wrapping = Wrapping(case, blocks)
        net = lowered(wrapping.nodes)
        note(f"{net}\nys={case.ys} feeds={case.feeds} given={case.given}")
        truth = Truth(case._replace(net=Net("flat", wrapping.ops)))
        census.update([judged(net, truth), *kinds(wrapping.nodes)])

    agrees()
    for word, share in LEAST.items() if count == EXAMPLES else ():
        assert census[word] >= share * count, f"only {census[word]} of {count} nets: {word}"


def kinds(nodes) -> set[str]:
    """The kinds of blocks in a program, and whether a loop runs more than once."""
    blocks = [node for node in nodes if isinstance(node, Block)]
    found = {block.kind for block in blocks} | {"again" for block in blocks if block.rounds > 1}
    return found.union(*(kinds(block.nodes) for block in blocks))


def judged(net: Net, truth: Truth) -> str:
    """`COMPARED`, or the kind of a refusal: nothing is overwritten in single assignment form, so that stands open."""
    outcome = compared(net, truth)
    starts = [name for pair in truth.case.starts.items() for name in pair if isinstance(name, str)]
    is_fed_and_overwritten = any(
        truth.run.latest[name][1] and name in truth.case.feeds for name in starts if name in truth.run.latest
    )
    if not is_fed_and_overwritten:  # else the last version has another name there
        apart = compared(net.to_ssa(), truth)
        assert apart != "version_overwritten"
        assert outcome != COMPARED or apart in (COMPARED, "orphan_stop_gradient")
    return outcome


def compared(net: Net, truth: Truth) -> str:
    """Hold the ys and the gradients of what is fed against the truth, and these against differences of the net."""
    case = truth.case
    try:
        ir = IR(net.ops)
        made, _ = ir.get_backward_pass(case.ys)
    except GradientError as refusal:
        return refusal.kind
    feeds = {**FEEDS, **case.feeds, **case.given}
    workspace = ran([*net.ops, *made], feeds)
    for y in case.starts:
        assert_value_agrees(workspace, y, truth.run.values[truth.run.latest[y]])
    gradients = {name: ir.blobs[name][0].gradient for name in case.feeds if name in ir.blobs}
    for name, gradient in gradients.items():
        expected, value = truth.gradients.get((name, 0)), truth.run.values.get((name, 0))
        if gradient is None:
            assert_no_gradient(name, expected)
        elif value is not None:
            assert_gradient_agrees(workspace, name, gradient, expected, value, truth.scale)
    if ONE_SIDED.isdisjoint(op.type for op in truth.run.operators):
        assert_is_slope(net, workspace, gradients, feeds, truth)
    return COMPARED


def assert_is_slope(
    net: Net,
    workspace: Workspace,
    gradients: Mapping[str, Gradient | None],
    feeds: Mapping[str, np.ndarray],
    truth: Truth,
) -> None:
    """The slope of the sum of the ys along a random direction is what the gradients say."""
    rng = np.random.default_rng(0)
    ways = {name: rng.normal(size=feeds[name].shape) for name in gradients if feeds[name].dtype == np.float64}
    step = 1e-6

    def total(side: float) -> float:
        moved = ran(net.ops, {**feeds, **{name: feeds[name] + side * step * way for name, way in ways.items()}})
        return sum(float((moved[y] * seed.numpy()).sum()) for y, seed in truth.seeds.items())

    slope = sum(float((dense(workspace, gradients[name], way) * way).sum()) for name, way in ways.items())
    np.testing.assert_allclose((total(1) - total(-1)) / (2 * step), slope, 1e-4, 1e-4 * truth.scale)
