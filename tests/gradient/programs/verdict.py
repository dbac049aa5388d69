"""gradviz judged on one program: its gradients are true, or the same program with all versions kept shows why not."""

import random

import numpy as np

from gradviz import IR, GradientError, GradientSlice, Net, Workspace
from gradviz.program import Gradient
from gradviz.program.control_flow import NETS
from gradviz.program.net_halves import number
from gradviz.program.operator import BlobVersion

from .lowering import Lowered
from .reference import Reference
from .tree import CONSTANTS, SHAPE, Program

TOLERANCE = 1e-9
"""How far gradients may differ, as a part of the greatest of them or of 1."""

COMPARED = "compared"


def judged(program: Program, reference: Reference, lowered: Lowered) -> str:
    """Differentiate the program and hold the outcome against the reference.

    Returns:
        `COMPARED`, or the kind of a refusal that is justified: with a name or a workspace for every version, and a
        scope for every Do, the gradients of the same program are right.
    """
    outcome = COMPARED
    try:
        assert_agrees(program, reference, lowered)
    except GradientError as refusal:
        outcome = refusal.kind
        assert_justified(refusal, lowered)
    assert_agrees(program, reference, Lowered(program, sheltered=True))
    return outcome


def assert_justified(refusal: GradientError, lowered: Lowered) -> None:
    """A version is overwritten that no workspace keeps, or several operators put workspaces on one stack."""
    assert refusal.ways_out
    if refusal.kind == "version_overwritten":
        (name,) = refusal.blobs
        assert any(name.startswith(variable) for variable in overwritten(lowered.net))
    else:
        assert refusal.kind == "control_flow_structure"
        assert lowered.words & {"common scope", "scope passed down"}


def assert_agrees(program: Program, reference: Reference, lowered: Lowered) -> None:
    """Values and gradients of a program as it is written are those of the reference."""
    ys, given = starts(program, lowered)
    ir = IR(lowered.net.ops, lowered.skip)
    operators, gradients = ir.get_backward_pass(ys)
    workspace = Workspace()
    for name, array in {**CONSTANTS, **program.inputs, **given}.items():
        workspace.feed(name, array)
    run(workspace, lowered.net, Net("backward", operators), at_once=bool(program.style % 2))
    for name, value in reference.end.items():
        wanted = value.detach().numpy()
        np.testing.assert_allclose(workspace[name], wanted, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"value of {name}")
    for name, array in {**CONSTANTS, **given}.items():
        np.testing.assert_array_equal(workspace[name], array, err_msg=f"{name} was overwritten")
    truth = reference.gradients(reference.start)
    scale = max([1.0, *(float(np.abs(wanted).max()) for wanted in truth.values())])
    for name, wanted in truth.items():
        assert_gradient(workspace, name, gradient_at_start(ir, name), wanted, scale)
    results = {name: reference.end[name] for name in reference.end if is_single_result(ir, name) and name in gradients}
    for name, wanted in reference.gradients(results).items():
        assert_gradient(workspace, name, gradients[name], wanted, scale)


def starts(program: Program, lowered: Lowered) -> tuple[dict[str, Gradient | None], dict[str, np.ndarray]]:
    """The ys, and the arrays to feed for them: under names that results might take, unless the y is overwritten."""
    rng, taken, again = random.Random(program.style), names(lowered.net), overwritten(lowered.net)
    ys: dict[str, Gradient | None] = {}
    given: dict[str, np.ndarray] = {}
    for y, array in program.ys.items():
        if array is None:
            ys[y] = None
            continue
        other = rng.choice("abcd")
        wanted = rng.choice((f"{y}_grad", f"{other}_grad", "_a_grad_autosplit_0", "loop_net_grad/cond", f"{y}_given"))
        shared = [name for name, other in given.items() if other is array]
        if y in again or wanted in taken or wanted in given:
            wanted = f"{y}_given"
        elif shared:
            wanted = shared[0]
        ys[y], given[wanted] = wanted, array
    return ys, given


def run(workspace: Workspace, forward: Net, backward: Net, *, at_once: bool) -> None:
    """Run both nets, as one or one after the other, the backward one as it is read from its JSON."""
    backward = Net.from_json(backward.to_json())
    if at_once:
        workspace.run(Net("both", [*forward.ops, *backward.ops]))
    else:
        workspace.run(forward)
        workspace.run(backward)


def names(net: Net) -> set[str]:
    """The blobs of the net itself."""
    return {name for op in net.ops for name in (*op.inputs, *op.outputs)}


def overwritten(net: Net) -> set[str]:
    """The blobs that the net, or one in it, writes more than once."""
    written: set[str] = set()
    todo: list[Net] = [net]
    while todo:
        ops = todo.pop().ops
        written.update(blob.name for ssa in number(ops) for blob in ssa.writes if blob.version)
        todo += [inner for op in ops for inner in op.args.values() if op.type in NETS and hasattr(inner, "ops")]
    return written


def gradient_at_start(ir: IR, name: str) -> Gradient | None:
    """The gradient of a variable as it is where the part that is differentiated begins."""
    made: list[BlobVersion] = [blob for ssa in ir.ssa[: ir.skip] for blob in ssa.writes if blob.name == name]
    if not made and (name not in ir.blobs or not ir.is_from_outside(name)):
        return None
    return ir.blobs[name][made[-1].version if made else 0].gradient


def is_single_result(ir: IR, name: str) -> bool:
    """Whether an operator without nets makes the variable, and nothing writes it again."""
    writers = [ssa.op.type for ssa in ir.ssa[ir.skip :] if name in ssa.op.outputs]
    return len(writers) == 1 and writers[0] not in NETS and len(ir.blobs[name]) == 1


def assert_gradient(
    workspace: Workspace, name: str, gradient: Gradient | None, wanted: np.ndarray, scale: float
) -> None:
    """`gradient` is the one wanted; where there is none, zeros are."""
    if gradient is None:
        assert not wanted.any(), f"{name} has no gradient, and should have {wanted}"
        return
    actual = np.zeros(SHAPE)
    if isinstance(gradient, GradientSlice):
        np.add.at(actual, workspace[gradient.indices], workspace[gradient.values])
    else:
        actual = workspace[gradient]
    assert actual.shape == wanted.shape
    message = f"{gradient}, the gradient of {name}"
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=TOLERANCE * scale, err_msg=message)


def is_within_reach(reference: Reference) -> bool:
    """Whether the numbers of a program stay so small that a comparison says something."""
    return all(bool((value.detach().abs() < 1e6).all()) for value in reference.end.values())
