"""Executing the steps of a plan, one after the other."""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ..operators import lookup
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import GradvizError, RunError
from ..program.control_flow import within
from .devices import is_on_gpu
from .faults import kernel_failed, located, undefined
from .nested import Nested, Runner, Values
from .planning import infer, spec_of
from .shelf import share
from .step import Step

_freeze: Any = np.ndarray.setflags
"""Called with False it makes an array read-only; by position, which numpy takes faster than by name."""


def execute(steps: Sequence[Step], values: MutableMapping[str, Array]) -> None:
    """Run `steps` in order on `values`; raises RunError like `run_step`."""
    with np.errstate(all="ignore"):
        _execute(steps, values)


def _execute(steps: Sequence[Step], values: Values) -> None:
    array_type, freeze = np.ndarray, _freeze
    for step in steps:
        kernel, op, _, inputs, output, _, _, _, _ = step
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


def run_step(step: Step, values: Values, run_nested: Runner = _run_nested) -> None:
    """Run one operator on `values` and put its outputs there, read-only.

    Args:
        run_nested: runs the nested nets of the operator, if it has any.

    Raises:
        RunError: as in `plan` for a late check; ``kernel_failed`` when the kernel raises or returns something else
            than one array for each output; ``bad_value`` when the kernel refuses a value; ``too_many_iterations``.
    """
    for name, kept in step.keeps:
        if name in values:
            share(kept, values, values, name)
    if step.nested is not None:
        step.nested.run(values, run_nested)
        return
    op = step.op
    try:
        arrays = [values[name] for name in op.inputs]
    except KeyError as missing:
        raise undefined(op, step.position, missing.args[0], values) from None
    if step.late:
        known = lookup(op.type)
        assert known is not None
        infer(op, step.position, known, [spec_of(array) for array in arrays])
    try:
        result = step.kernel(op, *arrays)
    except Exception as error:
        raise _explained(error, step, values) from error
    _store(result, step, values)


def _store(result: Any, step: Step, values: Values) -> None:
    """Put what a kernel returned into `values`, one array for each output."""
    outputs = step.op.outputs
    if type(result) is not tuple:
        result = (result,)
    if len(result) != len(outputs):
        raise _failed(step, values, f"returned {len(result)} arrays for {len(outputs)} outputs")
    for name, array in zip(outputs, result, strict=True):
        if type(array) is np.ndarray:
            _freeze(array, False)
        else:
            array = _as_array(array, step, values)
        values[name] = array


def _as_array(value: Any, step: Step, values: Mapping[str, Array]) -> Array:
    """CuPy's arrays and stacks of workspaces as they are; numpy's scalars, from reductions, as read-only arrays."""
    if is_on_gpu(value) or isinstance(value, ScopeStack):
        return value
    if isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        _freeze(array, False)
        return array
    raise _failed(step, values, f"returned {type(value).__name__} {value!r} instead of an array")


def _explained(error: Exception, step: Step, values: Mapping[str, Array]) -> Exception:
    """What to raise when a step raised `error`: our own errors located, others as ``kernel_failed``."""
    if isinstance(error, GradvizError) and error.operator_index is not None:
        return error
    for name in step.op.inputs:
        if name not in values:
            return undefined(step.op, step.position, name, values)
    if isinstance(error, RunError):
        return located(error, step.op, step.position, [spec_of(values[name]) for name in step.op.inputs])
    if isinstance(error, GradvizError):
        return error
    return _failed(step, values, f"raised {type(error).__name__}: {error}")


def _failed(step: Step, values: Mapping[str, Array], what: str) -> RunError:
    return kernel_failed(step.op, step.position, values, what)
