"""Why a backward pass is refused: the errors, each with operator, blobs, versions and the ways out."""

from collections.abc import Sequence
from contextlib import suppress
from operator import index
from typing import Any

from ..operators import lookup
from ..program import Gradient, GradientError, Operator
from ..program.control_flow import takes_workspaces
from ..program.errors import repr_of
from ..program.operator import BlobVersion, Ssa
from .accumulation import Tracked
from .rules import describe


def skip_of(skip: Any, net: Sequence[Operator], *, grows: bool = False) -> int:
    """How many operators of a net an argument skips; of one that grows they may be more than it has.

    Raises:
        GradientError: ``bad_skip``.
    """
    count = len(net)
    with suppress(TypeError):
        number = int(index(skip))
        if number >= 0 and (grows or number <= count):
            return number
    raise GradientError(
        f"skip={repr_of(skip)} does not fit a net of {count} operators.",
        kind="bad_skip",
        ways_out=[f"Give a number from 0 to {count}."],
    )


def duplicate_output(op: Operator, index: int) -> GradientError:
    """An operator writes the same name twice, so one of its values would be lost."""
    twice = next(name for name in op.outputs if op.outputs.count(name) > 1)
    return GradientError(
        f"{twice} is written twice by {describe(op, index)}.",
        kind="bad_net",
        operator_index=index,
        blobs=[twice],
        ways_out=["Give each output its own name."],
    )


def orphan_stop_gradient(op: Operator, index: int) -> GradientError:
    """Nothing reads the output of a StopGradient, so it stops nothing."""
    return GradientError(
        f"Nothing reads {op.outputs[0]}, so {describe(op, index)} stops nothing.",
        kind="orphan_stop_gradient",
        operator_index=index,
        blobs=[op.outputs[0], *op.inputs],
        ways_out=[
            f"Let the operators that should not send gradients back read {op.outputs[0]} instead of {op.inputs[0]}.",
            "Remove the StopGradient.",
        ],
    )


def version_overwritten(
    ssa: Sequence[Ssa[Tracked]], index: int, source: str, blob: BlobVersion, latest: BlobVersion
) -> GradientError:
    """A gradient operator needs a forward value that a later operator has overwritten."""
    name = blob.name
    writer = next(
        later
        for later, played in enumerate(ssa)
        if any(written.name == name and written.version == blob.version + 1 for written in played.writes)
    )
    op = ssa[index].op
    in_place = " in place" if writer == index else ""
    return GradientError(
        f"The gradient of {describe(op, index)} needs {blob}, its {source}, but operator #{writer} "
        f"{ssa[writer]} overwrote it{in_place}: at the end of the forward pass {name} holds {latest}.",
        kind="version_overwritten",
        operator_index=index,
        blobs=[name],
        versions=[str(blob), str(latest)],
        ways_out=[
            f"Let operator #{writer} write a new name instead of {name}.",
            f"Copy {name} before operator #{writer} and let operator #{index} work on the copy.",
            "Take net.to_ssa(), the same net with every version under a name of its own.",
        ],
    )


def missing_output_gradient(op: Operator, index: int, g_output: Sequence[Gradient | None]) -> GradientError:
    """A rule needs the gradient of an output that got none."""
    missing = [name for name, gradient in zip(op.outputs, g_output, strict=True) if gradient is None]
    if not missing:
        return out_of_scope(op, index, None)
    return GradientError(
        f"{_rule_of(op, index)} needs the gradient of {', '.join(missing)}, and nothing downstream sends one.",
        kind="missing_output_gradient",
        operator_index=index,
        blobs=missing,
        ways_out=[
            f"Use {missing[0]} on the way to a y, or make it a y itself.",
            "Give it a gradient of zeros: list it in ys as a dict entry with the name of a blob of zeros.",
        ],
    )


def out_of_scope(op: Operator, index: int, name: Any) -> GradientError:
    """A rule speaks of a blob that is neither of its operator nor made by itself."""
    return GradientError(
        f"{_rule_of(op, index)} speaks of {name!r}, which is no input, output or output gradient of it, and which no "
        "earlier operator of the rule makes.",
        kind="rule_failed",
        operator_index=index,
        blobs=[str(name)],
        ways_out=[
            "A gradient operator may read inputs, outputs, output gradients, and what the same rule made before."
        ],
    )


def unmarked(op: Operator, index: int, name: str) -> GradientError:
    """A rule reads a plain name that stands for two versions: what an operator in place overwrites, and its output."""
    return GradientError(
        f"{_rule_of(op, index)} reads {name!r} as plain text, which is the name of two versions that it could mean.",
        kind="rule_failed",
        operator_index=index,
        blobs=[name],
        ways_out=[
            "Let the rule take the name from op.inputs, op.outputs or g_output as it is: str(...) or an f-string of it "
            "forgets which of them it was.",
            f"Let operator #{index} write a new name instead of {name}.",
        ],
    )


def _rule_of(op: Operator, index: int) -> str:
    """``The gradient rule of operator #3 y = Relu(x) (rectifiers.py:12)``."""
    operator_type = lookup(op.type)
    where = f" ({operator_type.rule_source})" if operator_type is not None and operator_type.rule_source else ""
    return f"The gradient rule of {describe(op, index)}{where}"


def scope_as_y(y: str) -> GradientError:
    """What is to be differentiated is no number."""
    return GradientError(
        f"{y} holds a stack of workspaces, which has no gradient.",
        kind="bad_ys",
        blobs=[y],
        ways_out=["Name blobs of numbers as ys: the outputs of the operators that use the stack."],
    )


def shared_scope(op: Operator, index: int, scope: str, later: int, other: Operator) -> GradientError:
    """A scope is not, for the backward pass of an operator, what it left: a later operator changed the stack for good.

    That one puts workspaces there which its own backward pass does not take, or it is part of one that took this.
    """
    if takes_workspaces(other):
        why, way_out = (
            "is part of a backward pass made before, and took it",
            "Ask for the gradients of all ys in one call.",
        )
    else:
        why = "puts its own on the same stack, and no gradient takes it off"
        way_out = f"Give operator #{later} a scope of its own: CreateScope."
    return GradientError(
        f"The backward pass of {describe(op, index)} cannot find its workspace on {scope}: operator #{later} {why}.",
        kind="control_flow_structure",
        operator_index=index,
        blobs=[scope],
        ways_out=[way_out],
    )
