"""What random nets contain, counted, so that a change of the strategy cannot make them poorer unnoticed."""

from collections import Counter
from collections.abc import Iterator

from gradviz import GradientSlice
from gradviz.program import Operator
from tests.gradient.nets.themes import Theme
from tests.gradient.reference.elementwise import ARITHMETIC, QUESTIONS
from tests.gradient.reference.run import CONSTANT, FORMULAS, WITHOUT_RULE, Blob
from tests.gradient.truth import Truth
from tests.gradient.verdict import COMPARED

GROUPS: dict[str, frozenset[str]] = {
    "passed on": frozenset({"Sum", "Alias", "EnsureDense"}),
    "moved": frozenset({"Copy", "Reshape", "Concat", "DepthConcat", "Transpose", "Split", "DepthSplit"}),
    "products": frozenset({"FC", "FCTransposed", "MatMul", "BatchMatMul"}),
    "reductions": frozenset({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "Moments"}),
    "activations": frozenset({"Relu", "Elu", "LeakyRelu", "Sigmoid", "Tanh", "Softmax", "Gelu", "Swish", "PRelu"}),
    "losses": frozenset({"SoftmaxWithLoss", "LabelCrossEntropy", "SigmoidCrossEntropyWithLogits", "AveragedLoss"}),
    "normalized": frozenset({"LayerNorm", "RMSNorm", "Normalize", "SpatialBN", "GroupNorm", "InstanceNorm"}),
}
"""Groups of types that gradients pass through."""

MOST_REFUSED = {"everything": 0.30, "overwriting": 0.50, "tables": 0.28, "ys": 0.28, "constants": 0.36}
"""The share of a theme's nets that may be refused: of all nets, 35 in a hundred."""

LEAST_TYPES = 120
"""How many types of operators gradients pass in the nets of each theme."""

LEAST: dict[str, dict[str, int]] = {
    "everything": {
        "branching": 220,
        "a repeated input": 180,
        "an unused output": 100,
        "several ys": 220,
        "moved": 110,
        "passed on": 50,
        "products": 60,
        "broadcast": 50,
        "activations": 50,
        "losses": 45,
        "reductions": 40,
        "normalized": 30,
        "sparse": 35,
        "a constant": 70,
        "a y that is read": 50,
    },
    "overwriting": {
        "in place": 40,
        "overwritten": 40,
        "branching": 90,
        "a stop in place": 8,
        "version_overwritten": 100,
        "a name of gradients": 15,
    },
    "tables": {"sparse": 110, "several sparse": 10, "sparse and dense": 35, "a given slice": 20},
    "ys": {
        "several ys": 140,
        "a y that is read": 75,
        "None in a dict": 60,
        "a given gradient": 80,
        "a given slice": 40,
        "a blob as gradient": 12,
        "skip": 45,
        "a name of gradients": 50,
        "missing_output_gradient": 6,
    },
    "constants": {
        "a stop": 18,
        "a zero gradient": 15,
        "a constant": 40,
        "without rule": 12,
        "orphan_stop_gradient": 15,
        "no_gradient_rule": 8,
    },
}
"""Theme -> how many of its nets at least have a feature and are differentiated, or are refused for a reason.

About half of what there is, so that another version of hypothesis or a small change may draw other nets.
"""


def assert_rich(theme: Theme, census: Counter[str]) -> None:
    """The nets of a theme, counted by outcome and feature, have enough of everything."""
    refused = 1 - census[COMPARED] / theme.examples
    assert refused <= MOST_REFUSED[theme.name], f"{refused:.0%} of the nets were refused"
    poor = {feature: census[feature] for feature, least in LEAST[theme.name].items() if census[feature] < least}
    assert not poor, f"too few nets with {poor}"
    passed = [feature for feature in census if feature in FORMULAS]
    assert len(passed) >= LEAST_TYPES, f"gradients pass only {len(passed)} types"


def features(truth: Truth) -> set[str]:
    """What a net has, as far as gradients meet it; the types of operators that they pass are among it."""
    return {*of_ys(truth), *of_operators(truth), *of_blobs(truth)}


def of_ys(truth: Truth) -> Iterator[str]:
    """What the pass starts from."""
    case, run = truth.case, truth.run
    if len(case.starts) > 1:
        yield "several ys"
    if case.skip:
        yield "skip"
    read = {blob for reads in run.reads for blob in reads}
    if any(run.latest[y] in read for y in case.starts):
        yield "a y that is read"
    for start in case.starts.values():
        if isinstance(start, GradientSlice):
            yield "a given slice"
        elif start is not None:
            yield "a given gradient" if start in case.given else "a blob as gradient"
        elif isinstance(case.ys, dict):
            yield "None in a dict"


def of_operators(truth: Truth) -> Iterator[str]:
    """What operators gradients pass, and how these are called."""
    run = truth.run
    for index, op in enumerate(run.operators[truth.case.skip :], truth.case.skip):
        if op.type == "StopGradient":
            yield "a stop in place" if op.inputs == op.outputs else "a stop"
        elif op.type == "ZeroGradient":
            yield "a zero gradient"
        elif op.type in QUESTIONS or op.type in CONSTANT:
            yield "a constant"
        elif op.type in WITHOUT_RULE:
            yield "without rule"
        reached = [truth.reached(blob) for blob in run.writes[index]]
        if not any(reached):
            continue
        yield op.type
        yield from (group for group, members in GROUPS.items() if op.type in members)
        if not all(reached):
            yield "an unused output"
        if len(set(op.inputs)) < len(op.inputs):
            yield "a repeated input"
        if set(op.inputs) & set(op.outputs):
            yield "in place"
        if op.type in ARITHMETIC and len({run.values[blob].shape for blob in run.reads[index]}) > 1:
            yield "broadcast"
        if any("_grad" in name for name in op.outputs):
            yield "a name of gradients"


def of_blobs(truth: Truth) -> Iterator[str]:
    """How blobs that have a gradient are read."""
    run = truth.run
    readers: dict[Blob, list[Operator]] = {}
    for index, op in enumerate(run.operators[truth.case.skip :], truth.case.skip):
        if truth.any_reached(run.writes[index]):
            for blob in filter(truth.reached, run.reads[index]):
                readers.setdefault(blob, []).append(op)
    for blob, ops in readers.items():
        as_table = sum(reads_sparsely(op, blob[0]) for op in ops)
        if len(ops) > 1:
            yield "branching"
        if as_table:
            yield "sparse"
        if as_table > 1:
            yield "several sparse"
        if 0 < as_table < len(ops):
            yield "sparse and dense"
        if blob != run.latest[blob[0]]:
            yield "overwritten"


def reads_sparsely(op: Operator, name: str) -> bool:
    """Whether `op` sends back gradients of some rows of `name`."""
    is_table = op.type.startswith(("Gather", "SparseLengths", "SparseSorted", "SparseUnsorted"))
    return is_table and op.inputs[0] == name and not op.args.get("dense_gradient")
