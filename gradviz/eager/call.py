"""Calls of operator types: what a function of `gradviz.functions` does when it is called.

What depends on shapes and dtypes alone is done once: a call checks each combination of them that it meets, makes the
plan of its gradient for each way in which it is needed, and then only runs kernels.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from ..gradient.rules import takes_slices
from ..operators import ArraySpec, OperatorType, lookup, similar
from ..operators.arguments import own_arguments
from ..operators.gradients import gradient_name
from ..operators.randomness import draws_by_name
from ..operators.registry import Array, Slots, when_registered
from ..program import Device, GradientError, GradientSlice, Operator, RunError
from ..program import Gradient as GradientName
from ..program.errors import repr_of
from ..runtime.devices import CPU, device_of, freeze, guarded, is_on_gpu, running_on
from .faults import call_failed, called, common_device, data_replaced, rule_failed, wrong_results
from .function import Function
from .gradients import Absent, Gradient, Rows
from .plan import Plan, make_plan
from .variable import Operand, Variable, as_variables

MOST_SIGNATURES = 128
"""A call that has met more shapes and dtypes than this forgets them all: programs with ever new shapes stay small."""

_new = object.__new__
_view: Any = np.ndarray.view


class Signature:
    """A call on arrays of certain shapes and dtypes, on one device: checked, and ready to run.

    Attributes:
        passes: whether gradients pass it at all.
        single: whether it has one output.
        most: how many outputs the kernel may return, of which the last may not have been asked for.
        plans: how to run it backward, for each set of inputs that want a gradient; where it has several outputs, also
            for each set of those that have one.
        tape_plans: the same on a tape, for the types of the gradients of its outputs; `other_plans`: for such as are
            rows, or not there after all.
    """

    __slots__ = ("device", "kernel", "most", "name", "op", "other_plans", "passes", "plans", "single", "tape_plans")

    def __init__(self, name: str, op: Operator, operator_type: OperatorType, device: Device) -> None:
        assert operator_type.kernel is not None
        self.name = name
        self.op = op
        self.kernel = operator_type.kernel if device == CPU else running_on(operator_type.kernel, device)
        self.passes = not operator_type.constant
        self.single = len(op.outputs) == 1
        self.most = len(op.outputs) if operator_type.outputs is None else operator_type.outputs.most or len(op.outputs)
        self.device = device
        self.plans: dict[Any, Plan] = {}
        self.tape_plans: dict[Any, Plan | None] = {}
        self.other_plans: dict[Any, Plan | None] = {}

    def called(self, arrays: Sequence[Array]) -> str:
        """How messages speak of a call on `arrays`."""
        return called(self.name, self.op.inputs, arrays)

    def outputs(self, result: Any, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """What the kernel returned, as one read-only array for each output."""
        outputs, count = result if type(result) is tuple else (result,), len(self.op.outputs)
        if not count <= len(outputs) <= self.most:
            raise wrong_results(self.called(arrays), f"{len(outputs)} arrays", count)
        return tuple([self._output(output, arrays) for output in outputs[:count]])

    def _output(self, output: Any, arrays: Sequence[Array]) -> Array:
        if is_on_gpu(output):
            return output
        if not isinstance(output, np.ndarray | np.generic):
            what = f"{type(output).__name__} {repr_of(output)}"
            raise wrong_results(self.called(arrays), what, len(self.op.outputs))
        return guarded(np.asarray(output))


class OperatorFunction(Function):
    """One call of an operator type of the table."""

    __slots__ = ("signature",)

    signature: Signature

    @property
    def label(self) -> str:
        return self.signature.op.type

    def as_operator(self, arrays: Sequence[Array], inputs: list[str], outputs: list[str]) -> Operator:
        op, args = self.signature.op, self.signature.op.args
        if op.type == "Gather" and arrays[1].ndim != 1:  # the IR joins the rows of several uses by vectors alone
            args = {**args, "dense_gradient": 1}
        if draws_by_name(op):
            args = {**args, "drawn_for": op.outputs[0]}
        return Operator(op.type, inputs, outputs, args)

    def run(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        signature = self.signature
        try:
            result = signature.kernel(signature.op, *arrays)
        except Exception as error:
            raise call_failed(error, signature.called(arrays)) from error
        if type(result) is np.ndarray and signature.single:
            if result.base is not None:
                return (guarded(result),)
            freeze(result, False)
            return (_view(result),)
        return signature.outputs(result, arrays)

    def input_gradients(self, gys: Sequence[Array | None], wanted: int) -> Sequence[Gradient | None]:
        try:
            return self.plan(gys, wanted).run(self.arrays, gys)
        except Exception as error:
            raise self.explained(error) from error

    def input_gradient_variables(self, gys: Sequence[Variable | None], wanted: int) -> Sequence[Variable | None]:
        for x, array in zip(self.inputs, self.arrays, strict=False):
            if x.data is not array:
                raise data_replaced(self, x)
        try:
            plan = self.plan(gys, wanted)
            values: list[Any] = [*self.inputs, *map(self.output, range(self.count)), *gys]
            if plan.calls is None:
                plan.calls = [Call.of(step.op) for step in plan.steps]
            for call, step in zip(plan.calls, plan.steps, strict=True):
                values += call.several(*step.pick(values))
            parts_of_inputs = [[values[number] for number in answer] for answer in plan.answers]
            pairs = zip(parts_of_inputs, self.inputs, strict=True)
            return [_gradient(parts, x) if parts else None for parts, x in pairs]
        except Exception as error:
            raise self.explained(error) from error

    def plan(self, gys: Sequence[Any], wanted: int) -> Plan:
        """How to come from the gradients `gys` to those that are wanted."""
        signature = self.signature
        key = wanted if signature.single else (wanted, *[gy is not None for gy in gys])
        plan = signature.plans.get(key)
        if plan is None:
            names = _gradient_names(signature.op, gys)
            plan = signature.plans[key] = make_plan(signature.op, names, wanted, signature.device)
        return plan

    def tape_plan(self, gys: Sequence[Any]) -> Plan | None:
        """The same for the operator that stands for it on a tape; None where its rule takes no rows as they are."""
        signature = self.signature
        key = (self.wanted, *map(type, gys))
        plans = signature.tape_plans if {Rows, Absent}.isdisjoint(key) else signature.other_plans
        if key not in plans:
            op = self.as_operator(self.arrays, signature.op.inputs, signature.op.outputs)
            names = _gradient_names(op, gys)
            is_taken = Rows not in key or takes_slices(op, 0, names)
            plans[key] = make_plan(op, names, self.wanted, signature.device) if is_taken else None
        return plans[key]

    def explained(self, error: Exception) -> Exception:
        call = self.signature.called(self.in_data)
        if isinstance(error, GradientError):
            return rule_failed(error, self.signature.op, call)
        return call_failed(error, f"The gradient of {call}")


def _gradient_names(op: Operator, gys: Sequence[Any]) -> list[GradientName | None]:
    """Names for the gradients of the outputs of `op`: one, two for rows, None where there is none."""
    names = map(gradient_name, op.outputs)
    return [
        None if gy is None else GradientSlice(f"{name}_indices", f"{name}_values") if type(gy) is Rows else name
        for name, gy in zip(names, gys, strict=True)
    ]


def _gradient(parts: Sequence[Variable], x: Variable) -> Variable:
    """The gradient of x that consists of `parts`, one Variable in its dtype."""
    gradient = TO_DENSE(*parts, x) if len(parts) == 2 else parts[0]
    return gradient if gradient.dtype == x.dtype else Call("cast", "Cast", {"to": x.dtype.name})(gradient)


class Call:
    """An operator type with arguments, to be called with Variables, arrays and numbers.

    Args:
        name: what messages call it.
        type: a type of the table that has a kernel.
        args: its arguments.
        outputs: how many outputs the operator has.
        returned: those among them that a call hands out; None: all.
    """

    __slots__ = ("__weakref__", "args", "name", "outputs", "returned", "signatures", "type")

    def __init__(
        self,
        name: str,
        type: str,
        args: Mapping[str, Any] | None = None,
        outputs: int = 1,
        returned: Sequence[int] | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.args = dict(args or {})
        self.outputs = outputs
        self.returned = tuple(range(outputs) if returned is None else returned)
        self.signatures: dict[Any, Signature] = {}
        _calls.add(self)

    @classmethod
    def of(cls, op: Operator) -> "Call":
        """A call of the type of `op`, a gradient operator, without what it carries along from its forward operator."""
        operator_type = lookup(op.type)
        args = own_arguments(op, operator_type and operator_type.args)
        return cls(op.type, op.type, args, len(op.outputs))

    def __call__(self, *inputs: Operand) -> Variable:
        """Apply the operator to Variables; arrays and numbers among them are constants.

        Returns:
            The first of the outputs that are handed out.

        Raises:
            RunError: ``shape_mismatch``, ``bad_argument``, ``bad_arity``, ``bad_value``, ``bad_device``,
                ``kernel_failed``, ``unknown_operator``; it names the function, what it was given, and the ways out.
        """
        return self._applied(inputs).output(self.returned[0])

    def several(self, *inputs: Operand) -> tuple[Variable, ...]:
        """The same; returns all outputs that are handed out."""
        function = self._applied(inputs)
        return tuple([function.output(place) for place in self.returned])

    def _applied(self, inputs: tuple[Operand, ...]) -> OperatorFunction:
        try:
            arrays, key = _looked_at(inputs)
        except AttributeError:
            inputs = as_variables(inputs)
            arrays, key = _looked_at(inputs)
        signature = self.signatures.get(key)
        if signature is None:
            signature = self._sign(key, arrays)
        function = _new(OperatorFunction)
        function.signature = signature
        function.apply(inputs, arrays, 5, signature.passes)
        return function

    def _sign(self, key: Any, arrays: tuple[Array, ...]) -> Signature:
        operator_type = lookup(self.type)
        if operator_type is None or operator_type.kernel is None:
            raise RunError(
                f"There is no operator type {self.type} that can be called.",
                kind="unknown_operator",
                ways_out=similar(self.type),
            )
        reads, writes = _names(operator_type.inputs, "x", len(arrays)), _names(operator_type.outputs, "y", self.outputs)
        op = Operator(self.type, reads, writes, self.args)
        call = called(self.name, op.inputs, arrays)
        if operator_type.inputs is not None and not operator_type.inputs.admit(len(arrays)):
            raise RunError(
                f"{call}: {self.type} takes {operator_type.inputs} inputs: {', '.join(operator_type.inputs.names)}.",
                kind="bad_arity",
                ways_out=["Give it its inputs in this order."],
            )
        if operator_type.outputs is not None and not operator_type.outputs.admit(self.outputs):
            names = ", ".join(operator_type.outputs.names)
            raise RunError(
                f"{call}: {self.type} has {operator_type.outputs} outputs: {names}; not {self.outputs}.",
                kind="bad_arity",
                ways_out=["Say how many of them there shall be: outputs=..."],
            )
        device = common_device(arrays, call)
        if operator_type.infer is not None:
            try:
                operator_type.infer(op, *[ArraySpec(array.shape, array.dtype) for array in arrays])
            except Exception as error:
                raise call_failed(error, call) from error
        if len(self.signatures) >= MOST_SIGNATURES:
            self.signatures.clear()
        signature = self.signatures[key] = Signature(self.name, op, operator_type, device)
        return signature


def _looked_at(inputs: tuple[Variable, ...]) -> tuple[tuple[Array, ...], Any]:
    """The arrays of the inputs, and what a signature depends on: shapes, dtypes, and devices other than the CPU.

    Raises:
        AttributeError: an input is no Variable.
    """
    if len(inputs) == 1:
        a = inputs[0]._array
        if type(a) is np.ndarray:
            return (a,), (a.shape, a.dtype)
    elif len(inputs) == 2:
        a, b = inputs[0]._array, inputs[1]._array
        if type(a) is np.ndarray and type(b) is np.ndarray:
            return (a, b), (a.shape, a.dtype, b.shape, b.dtype)
    arrays = tuple([x._array for x in inputs])
    return arrays, tuple([(a.shape, a.dtype, str(device_of(a))) for a in arrays])


def _names(slots: Slots | None, letter: str, count: int) -> list[str]:
    """Names for so many inputs or outputs: those of the slots, as far as they go."""
    named = list(slots.names[:count]) if slots is not None else []
    if slots is not None and slots.most is None:
        letter, named = slots.names[-1].removesuffix("s"), named[: len(slots.names) - 1]
    return [*named, *[f"{letter}{at}" for at in range(len(named), count)]]


def _forget() -> None:
    """A registration may have replaced a kernel or a rule that signatures hold."""
    for call in _calls:
        call.signatures.clear()


_calls: WeakSet[Call] = WeakSet()
when_registered(_forget)
TO_DENSE = Call("sparse_to_dense", "SparseToDense")
