"""gradviz judged on one net: its gradients are the truth, or the truth bears out why it refuses."""

from gradviz import GradientError, Net
from tests.gradient.agreement import (
    assert_gradient_agrees,
    assert_gradients_agree,
    assert_no_gradient,
    assert_nothing_is_passed_over,
    assert_value_agrees,
    assert_values_agree,
    ran,
)
from tests.gradient.nets.strategy import RandomNet
from tests.gradient.reference.run import FIRST_OUTPUT_ONLY, WITHOUT_RULE, Blob
from tests.gradient.truth import Truth

COMPARED = "compared"


def judged(truth: Truth) -> str:
    """Differentiate the net and hold the outcome against the truth.

    Returns:
        `COMPARED`, or the kind of the refusal, which the truth has borne out.
    """
    case = truth.case
    net, forward = Net("copy", case.net.ops), case.net.ops.copy()
    try:
        gradients = net.add_gradient_operators(case.ys, case.skip)
    except GradientError as refusal:
        assert net.ops == forward, "a refusal changed the net"
        assert_justified(refusal, truth)
        return refusal.kind
    assert net.ops[: len(forward)] == forward
    workspace = ran(net, case)
    assert_values_agree(workspace, truth)
    assert_gradients_agree(workspace, gradients, truth)
    assert_nothing_is_passed_over(truth)
    return COMPARED


def assert_justified(refusal: GradientError, truth: Truth) -> None:
    """The refusal is of a kind that random nets may meet, and the truth bears it out."""
    assert refusal.kind in JUSTIFIED_BY, f"nothing justifies {refusal.kind}: {refusal}"
    assert refusal.operator_index in range(truth.case.skip, len(truth.run.operators))
    JUSTIFIED_BY[refusal.kind](refusal, truth)


def overwritten(refusal: GradientError, truth: Truth) -> None:
    """A gradient passes the operator, the blob that it met was written again, and apart from that all is well."""
    index, (name,), run = refusal.operator_index or 0, refusal.blobs, truth.run
    assert run.operators[index].type == "ZeroGradient" or truth.any_reached(run.writes[index])
    met = [blob for blob in (*run.reads[index], *run.writes[index]) if blob[0] == name]
    later = [blob for writes in run.writes[index:] for blob in writes if blob[0] == name]
    assert any(blob[1] < after[1] for blob in met for after in later), f"{name} still is what operator #{index} met"
    assert_right_in_ssa(truth)


def assert_right_in_ssa(truth: Truth) -> None:
    """With a name for every version the net is not refused for overwriting, and its gradients are the same truth."""
    case, names = in_ssa(truth)
    net = Net("apart", case.net.ops)
    try:
        gradients = net.add_gradient_operators(case.ys, case.skip)
    except GradientError as other:
        if other.kind == "version_overwritten":
            raise
        assert_justified(other, Truth(case))
        return
    workspace = ran(net, case)
    for blob, expected in truth.gradients.items():
        name, value = names[blob], truth.run.values[blob]
        assert_value_agrees(workspace, name, value)
        if name in gradients:
            assert_gradient_agrees(workspace, name, gradients[name], expected, value, truth.scale)
        else:
            assert_no_gradient(name, expected)


def in_ssa(truth: Truth) -> tuple[RandomNet, dict[Blob, str]]:
    """The same net with a name for every version, and what each version is called in it.

    Versions are told by their places in the two programs.
    """
    case, run = truth.case, truth.run
    net = case.net.to_ssa()
    names: dict[Blob, str] = {}
    for op, reads, writes in zip(net.ops, run.reads, run.writes, strict=True):
        names.update(zip(reads, op.inputs, strict=True))
        names.update(zip(writes, op.outputs, strict=True))
    last = {name: names[blob] for name, blob in run.latest.items()}
    ys = {last[y]: last.get(start, start) if isinstance(start, str) else start for y, start in case.starts.items()}
    return case._replace(net=net, ys=ys), names


def without_rule(refusal: GradientError, truth: Truth) -> None:
    """A gradient arrives at an output through which the operator passes none."""
    index = refusal.operator_index or 0
    op, ends = truth.run.operators[index], truth.run.writes[index]
    if op.type in FIRST_OUTPUT_ONLY:
        ends = [blob for blob in ends[1:] if blob[0] in refusal.blobs]
    else:
        assert op.type in WITHOUT_RULE
    assert truth.any_reached(ends)


def missing_output_gradient(refusal: GradientError, truth: Truth) -> None:
    """No gradient arrives at the named outputs, though one arrives at another output of the operator."""
    written = truth.run.writes[refusal.operator_index or 0]
    named = [blob for blob in written if blob[0] in refusal.blobs]
    assert len(named) == len(refusal.blobs) > 0
    assert not truth.any_reached(named)
    assert truth.any_reached(written)


def orphan(refusal: GradientError, truth: Truth) -> None:
    """The operator is a StopGradient, and no operator that takes part reads what it writes."""
    op = truth.run.operators[refusal.operator_index or 0]
    assert op.type == "StopGradient"
    assert not any(op.outputs[0] in other.inputs for other in truth.run.operators[truth.case.skip :])


JUSTIFIED_BY = {
    "version_overwritten": overwritten,
    "no_gradient_rule": without_rule,
    "missing_output_gradient": missing_output_gradient,
    "orphan_stop_gradient": orphan,
}
"""The refusals that random nets may meet, and what bears each out."""
