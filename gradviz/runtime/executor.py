"""Executing operators: everything that can be checked is checked before the first kernel runs.

A plan is made once for a list of operators and the shapes and dtypes of what they read from outside; running it again
costs the kernels and little else.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from ..operators import ArraySpec, OperatorType, lookup, similar
from ..operators.registry import Array, Kernel
from ..program import Device, GradvizError, Operator, RunError
from ..program.errors import shorten

_freeze: Any = np.ndarray.setflags
"""Called with False it makes an array read-only; by position, which numpy takes faster than by name."""

Specs = dict[str, ArraySpec | None]
"""Blob name -> shape and dtype, None where only running tells."""


class Step(NamedTuple):
    """One operator ready to run.

    `inputs` holds the names of one or two inputs when it takes so many, writes one output, and needs no late check:
    then `execute` calls its kernel without a detour. `late`: its shapes are checked when its inputs exist.
    """

    kernel: Kernel
    op: Operator
    position: int
    inputs: tuple[str, ...]
    output: str
    late: bool


class Plan(NamedTuple):
    """Operators that fit together. `external`: what they read from outside, with the specs they were checked for."""

    operators: list[Operator]
    steps: list[Step]
    external: dict[str, ArraySpec]

    def fits(self, operators: Sequence[Operator], values: Mapping[str, Array]) -> bool:
        """Whether the plan still holds for these operators and values."""
        if self.operators != operators:
            return False
        for name, (shape, dtype) in self.external.items():
            value = values.get(name)
            if value is None or value.shape != shape or value.dtype != dtype:
                return False
        return True


def spec_of(value: Array) -> ArraySpec:
    """Shape and dtype of an array."""
    return ArraySpec(value.shape, value.dtype)


def plan(operators: Sequence[Operator], values: Mapping[str, Array]) -> Plan:
    """Check that `operators` can run one after the other on `values`, and make them ready.

    Raises:
        RunError: ``unknown_operator``, ``bad_arity``, ``undefined_blob``, ``shape_mismatch``, ``bad_argument`` or
            ``bad_device``, with the operator's index and blobs.
    """
    specs: Specs = {}
    external: dict[str, ArraySpec] = {}
    steps = []
    for index, op in enumerate(operators):
        known = _known(op, index)
        for name in op.inputs:
            if name not in specs:
                if name not in values:
                    raise _undefined(op, index, name, [*values, *specs])
                specs[name] = external[name] = spec_of(values[name])
        outputs = infer(op, index, known, [specs[name] for name in op.inputs])
        specs.update(zip(op.outputs, outputs, strict=True))
        late = known.infer is not None and any(specs[name] is None for name in op.inputs)
        steps.append(_step(op, index, known, late))
    return Plan(list(operators), steps, external)


def infer(
    op: Operator, index: int, known: OperatorType, specs: Sequence[ArraySpec | None]
) -> Sequence[ArraySpec | None]:
    """Shapes and dtypes of the outputs of `op`, None where unknown; raises RunError where the inputs do not fit."""
    unknown: list[ArraySpec | None] = [None] * len(op.outputs)
    if known.infer is None or any(spec is None for spec in specs):
        return unknown
    try:
        outputs = known.infer(op, *specs)
    except RunError as error:
        raise located(error, op, index, specs) from None
    if outputs is None:
        return unknown
    if isinstance(outputs, ArraySpec):
        outputs = (outputs,)
    return (list(outputs) + unknown)[: len(op.outputs)]


def execute(steps: Sequence[Step], values: MutableMapping[str, Array]) -> None:
    """Run `steps` in order on `values`; raises RunError like `run_step`."""
    array_type, freeze = np.ndarray, _freeze
    with np.errstate(all="ignore"):
        for step in steps:
            kernel, op, _, inputs, output, _ = step
            try:
                if len(inputs) == 1:
                    array = kernel(op, values[inputs[0]])
                elif inputs:
                    array = kernel(op, values[inputs[0]], values[inputs[1]])
                else:
                    run_step(step, values)
                    continue
            except Exception as error:
                raise _explained(error, step, values) from error
            if type(array) is array_type:
                freeze(array, False)
                values[output] = array
            else:
                _store(array, step, values)


def run_step(step: Step, values: MutableMapping[str, Array]) -> None:
    """Run one operator on `values` and put its outputs there, read-only.

    Raises:
        RunError: as in `plan` for a late check; ``kernel_failed`` when the kernel raises or returns something else
            than one array for each output; ``bad_value`` when the kernel refuses a value.
    """
    op = step.op
    arrays = [values[name] for name in op.inputs]
    if step.late:
        known = lookup(op.type)
        assert known is not None
        infer(op, step.position, known, [spec_of(array) for array in arrays])
    try:
        result = step.kernel(op, *arrays)
    except Exception as error:
        raise _explained(error, step, values) from error
    _store(result, step, values)


def _step(op: Operator, position: int, known: OperatorType, late: bool) -> Step:
    assert known.kernel is not None
    direct = not late and len(op.inputs) in (1, 2) and len(op.outputs) == 1
    inputs = tuple(op.inputs) if direct else ()
    return Step(known.kernel, op, position, inputs, op.outputs[0] if direct else "", late)


def _store(result: Any, step: Step, values: MutableMapping[str, Array]) -> None:
    """Put what a kernel returned into `values`, one array for each output."""
    outputs = step.op.outputs
    if type(result) is not tuple:
        result = (result,)
    if len(result) != len(outputs):
        raise _kernel_failed(step, values, f"returned {len(result)} arrays for {len(outputs)} outputs")
    for name, array in zip(outputs, result, strict=True):
        if type(array) is not np.ndarray:
            array = _as_array(array, step, values)
        _freeze(array, False)
        values[name] = array


def _as_array(value: Any, step: Step, values: Mapping[str, Array]) -> Array:
    """numpy's scalars, which its reductions return, as arrays."""
    if isinstance(value, np.generic | np.ndarray):
        return np.asarray(value)
    raise _kernel_failed(step, values, f"returned {type(value).__name__} {value!r} instead of an array")


def _explained(error: Exception, step: Step, values: Mapping[str, Array]) -> Exception:
    """What to raise when a kernel raised `error`: our own errors located, others as ``kernel_failed``."""
    if isinstance(error, RunError) and error.operator_index is None:
        return located(error, step.op, step.position, [spec_of(values[name]) for name in step.op.inputs])
    if isinstance(error, GradvizError):
        return error
    return _kernel_failed(step, values, f"raised {type(error).__name__}: {error}")


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
        blobs=op.inputs,
        ways_out=error.ways_out,
    )


def _known(op: Operator, index: int) -> OperatorType:
    known = lookup(op.type)
    if known is None or known.kernel is None:
        raise RunError(
            f"Operator #{index} {op} is of a type that has no kernel: {op.type}.",
            kind="unknown_operator",
            operator_index=index,
            blobs=op.outputs,
            ways_out=similar(op.type),
        )
    check_arity(op, index, known)
    _check_device(op.device, op, index)
    return known


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


def _check_device(device: Device | None, op: Operator, index: int) -> None:
    if device is not None and device.type != "cpu":
        raise RunError(
            f"Operator #{index} {op} asks for {device}; this workspace runs on the CPU.",
            kind="bad_device",
            operator_index=index,
            blobs=op.outputs,
            ways_out=['Leave its device out, or write "cpu".'],
        )


def _undefined(op: Operator, index: int, name: str, known: Sequence[str]) -> RunError:
    near = get_close_matches(name, known, n=3)
    ways_out = [f"Did you mean {' or '.join(near)}?"] if near else []
    return RunError(
        f"Operator #{index} {op} reads {shorten(name)}, which nobody fed or wrote before.",
        kind="undefined_blob",
        operator_index=index,
        blobs=[name],
        ways_out=[*ways_out, f'Feed it first: ws.feed("{name}", array).'],
    )


def _kernel_failed(step: Step, values: Mapping[str, Array], what: str) -> RunError:
    op = step.op
    shapes = ", ".join(f"{name}: {values[name].shape} {values[name].dtype}" for name in op.inputs)
    return RunError(
        f"The kernel of operator #{step.position} {op} {what}. Its inputs are {shapes or 'none'}.",
        kind="kernel_failed",
        operator_index=step.position,
        blobs=op.inputs,
        ways_out=["A kernel takes (op, *arrays) and returns one new array, or a tuple of one for each output."],
    )
