"""Executing the steps of a plan, one after the other, and why operators cannot be run.

An error says operator, blobs, shapes and the ways out.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ..operators import ArraySpec, OperatorType, lookup, similar
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import GradvizError, Operator, RunError
from ..program.control_flow import local_to, scopes_of, within
from ..program.errors import meant, out_of_memory, raised, repr_of, shorten, wants_memory
from .devices import freeze, is_on_gpu
from .nested import Nested, Runner, Step, Values
from .pace import Pace, Progress
from .store import share

UNKNOWN = None
"""The shape and dtype of a blob of which only running tells them."""


def execute(steps: Sequence[Step], values: MutableMapping[str, Array], progress: Progress | None = None) -> None:
    """Run `steps` in order on `values`, and tell `progress` if it takes long; raises RunError like `run_step`."""
    with np.errstate(all="ignore"):
        if progress is None:
            _execute(steps, values)
            return
        pace, count = Pace(progress, "run"), len(steps)
        for number, step in enumerate(steps):
            pace.reached(None, number, count)
            _execute((step,), values)
        pace.end(None, count, count)


def _execute(steps: Sequence[Step], values: Values) -> None:
    array_type = np.ndarray
    for step in steps:
        kernel, op, _, inputs, output, _, _, _, _, _ = step
        try:
            if len(inputs) == 1:
                array = kernel(op, values[inputs[0]])
            elif inputs:
                array = kernel(op, values[inputs[0]], values[inputs[1]])
            else:
                run_step(step, values, _run_nested)
                continue
        except Exception as error:
            raise _explained(error, step, values) from error
        if type(array) is array_type:
            freeze(array, False)
            values[output] = array
        else:
            _store(array, step, values)


def _run_nested(parent: Nested, argument: str, steps: Sequence[Step], values: Values, iteration: int | None) -> None:
    try:
        _execute(steps, values)
    except RunError as error:
        raise within(error, parent.op, parent.position, argument, iteration) from error


def run_step(step: Step, values: Values, run_nested: Runner) -> None:
    """Run one operator on `values` and put its outputs there, read-only.

    Args:
        run_nested: runs the nested nets of the operator, if it has any.

    Raises:
        RunError: as in `plan` for a late check; ``kernel_failed`` when the kernel raises or returns something else
            than one array for each output; ``bad_value`` when the kernel refuses a value; ``too_many_iterations``.
    """
    kernel, op, position, _, _, late, _, nested, keeps, _ = step
    for name, copy in keeps:
        if name in values:
            share(copy, values, values, name)
    if nested is not None:
        nested.run(values, run_nested)
        return
    try:
        arrays = list(map(values.__getitem__, op.inputs))
    except KeyError as missing:
        raise undefined(op, position, missing.args[0], values) from None
    if late:
        operator_type = lookup(op.type)
        assert operator_type is not None
        infer(op, position, operator_type, [spec_of(array) for array in arrays])
    try:
        result = kernel(op, *arrays)
    except Exception as error:
        raise _explained(error, step, values) from error
    if type(result) is np.ndarray and len(op.outputs) == 1:
        freeze(result, False)
        values[op.outputs[0]] = result
    else:
        _store(result, step, values)


def _store(result: Any, step: Step, values: Values) -> None:
    outputs = step.op.outputs
    if type(result) is not tuple:
        result = (result,)
    if len(result) != len(outputs):
        raise _failed(step, values, f"returned {len(result)} arrays for {len(outputs)} outputs")
    for name, array in zip(outputs, result, strict=True):
        if type(array) is np.ndarray:
            freeze(array, False)
        else:
            array = _as_array(array, step, values)
        values[name] = array


def _as_array(value: Any, step: Step, values: Mapping[str, Array]) -> Array:
    """CuPy's arrays and stacks of workspaces as they are; numpy's scalars, from reductions, as read-only arrays."""
    if is_on_gpu(value) or isinstance(value, ScopeStack):
        return value
    if isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        freeze(array, False)
        return array
    raise _failed(step, values, f"returned {type(value).__name__} {repr_of(value)} instead of an array")


def _explained(error: Exception, step: Step, values: Mapping[str, Array]) -> Exception:
    """What to raise when a step raised `error`: our own errors located, others as ``kernel_failed``."""
    if isinstance(error, GradvizError) and error.operator_index is not None:
        return error
    for name in step.op.inputs:
        if name not in values:
            return undefined(step.op, step.position, name, values)
    if wants_memory(error):
        error = out_of_memory(error)
    if isinstance(error, RunError):
        return located(error, step.op, step.position, [spec_of(values[name]) for name in step.op.inputs])
    if isinstance(error, GradvizError):
        return error
    return _failed(step, values, f"raised {raised(error)}")


def _failed(step: Step, values: Mapping[str, Array], what: str) -> RunError:
    """A kernel raised, or returned what is no array for each output."""
    op = step.op
    shapes = ", ".join(f"{name}: {values[name].shape} {values[name].dtype}" for name in op.inputs)
    return RunError(
        f"The kernel of operator #{step.position} {op} {what}. Its inputs are {shapes or 'none'}.",
        kind="kernel_failed",
        operator_index=step.position,
        blobs=op.inputs,
        ways_out=["A kernel takes (op, *arrays) and returns one new array, or a tuple of one for each output."],
    )


def spec_of(value: Array) -> ArraySpec:
    """Shape and dtype of an array."""
    return ArraySpec(value.shape, value.dtype)


def infer(
    op: Operator, index: int, operator_type: OperatorType, specs: Sequence[ArraySpec | None]
) -> Sequence[ArraySpec | None]:
    """Shapes and dtypes of the outputs of `op`, None where unknown; raises RunError where the inputs do not fit."""
    unknown: list[ArraySpec | None] = [UNKNOWN] * len(op.outputs)
    if operator_type.infer is None or any(spec is None for spec in specs):
        return unknown
    try:
        outputs = operator_type.infer(op, *specs)
    except RunError as error:
        raise located(error, op, index, specs) from None
    if outputs is None:
        return unknown
    if isinstance(outputs, ArraySpec):
        outputs = (outputs,)
    return (list(outputs) + unknown)[: len(op.outputs)]


def no_kernel(op: Operator, index: int) -> RunError:
    """An operator whose type has nothing to run."""
    return RunError(
        f"Operator #{index} {op} is of a type that has no kernel: {op.type}.",
        kind="unknown_operator",
        operator_index=index,
        blobs=op.outputs,
        ways_out=similar(op.type),
    )


def check_arity(op: Operator, index: int, operator_type: OperatorType) -> None:
    """Raise RunError ``bad_arity`` unless `op` has as many inputs and outputs as its type takes."""
    for what, slots, names in (
        ("input", operator_type.inputs, op.inputs),
        ("output", operator_type.outputs, op.outputs),
    ):
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
    op: Operator, index: int, name: str, present: Iterable[str], operators: Iterable[Operator] = ()
) -> RunError:
    """A blob that nobody fed or wrote before it is read.

    Args:
        present: the blobs that are there.
        operators: those around `op`, in whose nested nets there may be a blob of that name.
    """
    ways_out = meant(name, dict.fromkeys(present), 3)
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


def located(error: RunError, op: Operator, index: int, specs: Sequence[ArraySpec | None]) -> RunError:
    """The same error, saying which operator met it on which blobs."""
    shapes = ", ".join(
        f"{name}: {'?' if spec is None else f'{spec.shape} {spec.dtype}'}"
        for name, spec in zip(op.inputs, specs, strict=True)
    )
    message = f"Operator #{index} {op}: {error.message.rstrip('.')}. Its inputs are {shapes or 'none'}."
    return error.retold(message, operator_index=index, blobs=error.blobs or op.inputs)
