"""Why operators cannot be run: the errors, each with operator, blobs, shapes and the ways out."""

from collections.abc import Iterable, Mapping, Sequence

from ..operators import ArraySpec, OperatorType, similar
from ..operators.registry import Array
from ..program import Operator, RunError
from ..program.control_flow import local_to, scopes_of
from ..program.errors import shorten
from ..program.spelling import get_close_matches


def no_kernel(op: Operator, index: int) -> RunError:
    """A type that nothing is known of that could run."""
    return RunError(
        f"Operator #{index} {op} is of a type that has no kernel: {op.type}.",
        kind="unknown_operator",
        operator_index=index,
        blobs=op.outputs,
        ways_out=similar(op.type),
    )


def check_arity(op: Operator, index: int, known: OperatorType) -> None:
    """Raise RunError ``bad_arity`` unless `op` has as many inputs and outputs as its type takes."""
    for what, slots, names in (("input", known.inputs, op.inputs), ("output", known.outputs, op.outputs)):
        if slots is not None and not slots.admit(len(names)):
            raise RunError(
                f"Operator #{index} {op} has {len(names)} {what}s; {op.type} takes {slots}: {', '.join(slots.names)}.",
                kind="bad_arity",
                operator_index=index,
                blobs=names,
                ways_out=[f"Give {op.type} its {what}s {', '.join(slots.names)} in this order."],
            )
    if len(set(op.outputs)) != len(op.outputs):
        raise RunError(
            f"Operator #{index} {op} writes one name twice.",
            kind="bad_arity",
            operator_index=index,
            blobs=op.outputs,
            ways_out=["Give each output its own name."],
        )


def undefined(
    op: Operator, index: int, name: str, known: Iterable[str], operators: Iterable[Operator] = ()
) -> RunError:
    """A blob that nobody fed or wrote before it is read.

    Args:
        known: the blobs that are there.
        operators: those around `op`, in whose nested nets there may be a blob of that name.
    """
    near = get_close_matches(name, dict.fromkeys(known), n=3)
    ways_out = [f"Did you mean {' or '.join(near)}?"] if near else []
    if way := local_to(operators, name):
        ways_out.append(f"{shorten(name)} is local to the net {way}: make it an output of the Do that runs this.")
    elif name in scopes_of(op):
        ways_out.append(f'Make the stack of workspaces first: net.CreateScope([], "{name}").')
    else:
        ways_out.append(f'Feed it first: ws.feed("{name}", array).')
    return RunError(
        f"Operator #{index} {op} reads {shorten(name)}, which nobody fed or wrote before.",
        kind="undefined_blob",
        operator_index=index,
        blobs=[name],
        ways_out=ways_out,
    )


def kernel_failed(op: Operator, index: int, values: Mapping[str, Array], what: str) -> RunError:
    """A kernel raised, or returned what is no array for each output."""
    shapes = ", ".join(f"{name}: {values[name].shape} {values[name].dtype}" for name in op.inputs)
    return RunError(
        f"The kernel of operator #{index} {op} {what}. Its inputs are {shapes or 'none'}.",
        kind="kernel_failed",
        operator_index=index,
        blobs=op.inputs,
        ways_out=["A kernel takes (op, *arrays) and returns one new array, or a tuple of one for each output."],
    )


def located(error: RunError, op: Operator, index: int, specs: Sequence[ArraySpec | None]) -> RunError:
    """The same error, saying which operator met it on which blobs."""
    shapes = ", ".join(
        f"{name}: {'?' if spec is None else f'{spec.shape} {spec.dtype}'}"
        for name, spec in zip(op.inputs, specs, strict=True)
    )
    return RunError(
        f"Operator #{index} {op}: {error.message.rstrip('.')}. Its inputs are {shapes or 'none'}.",
        kind=error.kind,
        operator_index=index,
        blobs=error.blobs or op.inputs,
        ways_out=error.ways_out,
    )
