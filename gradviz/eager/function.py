"""Function: what a Variable was made by, and the class to write functions of one's own.

`mode` says how functions are applied at the moment. Two operator types stand for what the table has no type for:

PythonFunction: a call of a `Function` with methods in Python. An argument cannot hold the function, for operators are
written to JSON; it holds the function's number, by which the function is found as long as anybody holds it.

NewData: a Variable whose data was replaced after something had read it. Its value is the new data; the gradient goes to
what the Variable was before, as it does when functions run backward one by one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakValueDictionary

import numpy as np

from ..operators import register_gradient, register_kernel
from ..operators.gradients import gradient_name
from ..operators.registry import NUMERIC, Array, Gradients, RuleAnswer
from ..program import GradientError, Operator, RunError
from ..program.code_line import Instruction, caller
from ..program.errors import repr_of
from ..runtime.devices import CPU, copied, device_of, is_on_gpu
from .faults import called, common_device, differentiable_once, misfit, wrong_count, wrong_results
from .gradients import Gradient, checked_array, read_only, zeros_like
from .variable import Variable, as_variables

if TYPE_CHECKING:
    from .hooks import FunctionHook
    from .variable import Operand


class Mode(NamedTuple):
    """Whether functions are recorded, and the hooks in force, the outermost first."""

    records: bool = True
    hooks: tuple["FunctionHook", ...] = ()


DEFAULT = Mode()
mode: ContextVar[Mode] = ContextVar("gradviz_eager_mode", default=DEFAULT)
"""The mode of this thread, or of this asynchronous task."""

current_mode = mode.get


@contextmanager
def in_mode(**changes: Any) -> Iterator[None]:
    """While it lasts, these fields of the mode are others."""
    token = mode.set(current_mode()._replace(**changes))
    try:
        yield
    finally:
        mode.reset(token)


@contextmanager
def no_grad() -> Iterator[None]:
    """While it lasts, what functions return requires no gradient and remembers nothing. Also a decorator.

    Example:
        >>> with no_grad():
        ...     accuracy = evaluate(model, images)
    """
    with in_mode(records=False):
        yield


_new = object.__new__
_uids = count()


class Function:
    """One call of a function: what it read and what it returned. Subclass it for functions of your own.

    A function of your own has a `forward` and a `backward` method, on arrays. Calling an instance applies a copy of it
    to Variables, so that one instance may be called many times and each call may keep what it likes on `self`.

    Attributes:
        inputs: the Variables that it read.
        arrays: the data of the inputs and then of the outputs, as they were.
        count: how many outputs it has.
        rank: the greatest rank among its inputs.
        uid: a number that grows from call to call.
        wanted: which inputs want a gradient: bit i stands for input i; 0 where nobody will run it backward.
        called_at: where in the user's code it was called.
        returned_tuple: whether `forward` returned several outputs, or one in a tuple.

    Example:
        >>> class Cube(Function):
        ...     def forward(self, xs):
        ...         return xs[0] ** 3
        ...
        ...     def backward(self, xs, gys):
        ...         return 3 * xs[0] ** 2 * gys[0]
        >>> y = Cube()(x)
    """

    __slots__ = ("__weakref__", "arrays", "called_at", "count", "inputs", "rank", "returned_tuple", "uid", "wanted")

    arrays: tuple[Array, ...]
    count: int
    inputs: tuple[Variable, ...]
    rank: int
    uid: int
    wanted: int
    returned_tuple: bool
    called_at: Instruction

    def forward(self, xs: tuple[Array, ...]) -> Any:
        """The outputs, an array or a tuple of arrays, from the read-only arrays `xs`."""
        raise NotImplementedError(f"{self.label} has no forward method.")

    def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
        """The gradient of each input, in the shape and dtype of the input; None where there is none.

        Args:
            xs: the inputs, read-only.
            gys: the gradients of the outputs, read-only; None for an output that has none.
        """
        raise NotImplementedError(f"{self.label} has no backward method.")

    def __call__(self, *inputs: "Operand") -> Any:
        """Apply a copy of this function to Variables, arrays and numbers.

        Returns:
            A Variable, or a tuple of them where `forward` returns a tuple.

        Raises:
            RunError: ``kernel_failed`` when `forward` returns anything but arrays; ``bad_device``.
        """
        variables = as_variables(inputs)
        function = copy(self)
        function.apply(variables, tuple([x.data for x in variables]), 3)
        outputs = tuple(map(function.output, range(function.count)))
        return outputs if function.returned_tuple else outputs[0]

    @property
    def label(self) -> str:
        """What it is called: the name of its operator type, or of its class."""
        return type(self).__name__

    @property
    def in_data(self) -> tuple[Array, ...]:
        """What it read."""
        return self.arrays[: len(self.arrays) - self.count]

    @property
    def out_data(self) -> tuple[Array, ...]:
        """What it returned."""
        return self.arrays[len(self.arrays) - self.count :]

    @property
    def is_cut(self) -> bool:
        """Whether it has forgotten what it read, see `Variable.unchain_backward`."""
        return self.inputs is None

    def cut(self) -> None:
        """Forget what it read and returned."""
        self.inputs = self.arrays = None  # type: ignore[assignment]

    def apply(self, inputs: tuple[Variable, ...], arrays: tuple[Array, ...], depth: int, passes: bool = True) -> None:
        """Run forward on `arrays`, the data of `inputs`, under the eyes of the hooks in force.

        Args:
            depth: how many frames outwards the code of the user mostly is that has called this, see `caller`.
            passes: whether gradients pass this function at all.
        """
        records, hooks = current_mode()
        rank, wanted, bit = 0, 0, 1
        for x in inputs:
            if x.requires_grad:
                wanted |= bit
            if x.rank > rank:
                rank = x.rank
            bit <<= 1
        self.inputs = inputs
        self.called_at = caller(depth)
        self.uid = next(_uids)
        self.rank = rank
        self.wanted = wanted if records and passes else 0
        for hook in hooks:
            hook.forward_preprocess(self, arrays)
        outputs = self.run(arrays)
        self.arrays = arrays + outputs
        self.count = len(outputs)
        for hook in hooks:
            hook.forward_postprocess(self, arrays)

    def output(self, place: int) -> Variable:
        """Output `place` as a Variable, which remembers this function if an input wants a gradient.

        Also where nobody holds the one that was returned any more.
        """
        y = _new(Variable)
        y._array = array = self.arrays[place - self.count]
        y._grad = None
        y._grad_is_given = False
        y.name = None
        y.place = place
        y.rank = self.rank + 1
        if self.wanted and array.dtype.kind == "f":
            y._creator = self
            y.requires_grad = True
        else:
            y._creator = None
            y.requires_grad = False
        return y

    def as_operator(self, arrays: Sequence[Array], inputs: list[str], outputs: list[str]) -> Operator:
        """This call, which read and returned `arrays`, as an operator on blobs of these names."""
        _functions[self.uid] = self
        device = device_of(arrays[-1]) if outputs else CPU
        args = {"function": self.label, "uid": self.uid}
        return Operator("PythonFunction", inputs, outputs, args, None if device == CPU else device)

    def run_again(self, arrays: tuple[Array, ...]) -> Self:
        """The same call on other arrays; no Variable knows of it."""
        function = copy(self)
        outputs = function.run(arrays)
        function.arrays = arrays + outputs
        function.count = len(outputs)
        return function

    def run(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """The outputs, one read-only array each."""
        call = called(self.label, [f"input {at}" for at in range(len(arrays))], arrays)
        common_device(arrays, call)
        result = self.forward(arrays)
        self.returned_tuple = type(result) in (tuple, list)
        outputs = tuple(result) if self.returned_tuple else (result,)
        for output in outputs:
            if not (isinstance(output, np.ndarray | np.generic) or is_on_gpu(output)):
                raise wrong_results(call, f"{type(output).__name__} {repr_of(output)}", len(outputs))
            if output.dtype.kind not in NUMERIC:
                raise wrong_results(call, f"an array of dtype {output.dtype}", len(outputs))
        return tuple(map(copied, outputs))

    def input_gradients(self, gys: Sequence[Array | None], wanted: int) -> Sequence[Gradient | None]:
        """The gradients of the inputs, arrays, from those of the outputs.

        Args:
            wanted: the inputs whose gradients are of use, as in the attribute; other entries may hold anything.
        """
        gxs = self.backward(self.in_data, tuple([None if gy is None else read_only(gy) for gy in gys]))
        if type(gxs) not in (tuple, list):
            gxs = (gxs,)
        if len(gxs) != len(self.inputs):
            raise wrong_count(self, f"{len(gxs)} gradients")
        try:
            return [
                None if gx is None or not wanted >> at & 1 else copied(checked_array(x, gx, self.arrays[at]))
                for at, (x, gx) in enumerate(zip(self.inputs, gxs, strict=True))
            ]
        except GradientError as error:
            raise misfit(self, error) from None

    def explained(self, error: Exception) -> Exception:
        """`error`, met on the way back, said of this call."""
        return error

    def input_gradient_variables(self, gys: Sequence[Variable | None], wanted: int) -> Sequence[Variable | None]:
        """The same as Variables that can be differentiated again; here they refuse to be."""
        arrays = self.input_gradients([None if gy is None else gy._array for gy in gys], wanted)
        given = [gx is not None for gx in arrays]
        reads = (*self.inputs, *[gy for gy in gys if gy is not None])
        once = _Once(self, tuple([gx for gx in arrays if gx is not None]))
        once.apply(reads, tuple([x.data for x in reads]), 3)
        outputs = map(once.output, range(once.count))
        return [next(outputs) if is_given else None for is_given in given]


class _Once(Function):
    """The backward run of a function whose `backward` works on arrays: its result cannot be differentiated."""

    __slots__ = ("of", "result")

    def __init__(self, of: Function, result: tuple[Array, ...]) -> None:
        self.of = of
        self.result = result

    @property
    def label(self) -> str:
        return f"backward of {self.of.label}"

    def run(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        return self.result

    def input_gradients(self, gys: Sequence[Array | None], wanted: int) -> Sequence[Gradient | None]:
        raise differentiable_once(self.of)


CUT = Function()
"""What a Variable that is cut off by hand has for its creator."""
CUT.cut()


_functions: WeakValueDictionary[int, Function] = WeakValueDictionary()
"""Those that operators stand for, by their number."""


def _function_of(op: Operator) -> Function:
    function = _functions.get(op.arg("uid"))
    if function is None:
        raise RunError(
            f"The call of {op.arg('function')} that {op} stands for is gone.",
            kind="bad_value",
            ways_out=["Keep what it returned, or the expression that the operator comes from, while operators run."],
        )
    return function


@register_kernel("PythonFunction")
def python_function(op: Operator, *xs: Array) -> tuple[Array, ...]:
    """What the function's forward method returns."""
    return _function_of(op).run_again(xs).out_data


@register_gradient("PythonFunction")
def python_function_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    function = _function_of(op)
    wanted = [at for at in range(len(op.inputs)) if function.wanted >> at & 1]
    given = [at for at, gradient in enumerate(g_output) if gradient is not None]
    g_input: Gradients = [gradient_name(x) if at in wanted else None for at, x in enumerate(op.inputs)]
    reads: list[Any] = [*op.inputs, *[g_output[at] for at in given]]
    writes = [gradient_name(op.inputs[at]) for at in wanted]
    args = {**op.args, "wanted": wanted, "given": given}
    device = device_of(function.arrays[0]) if function.inputs else CPU
    return Operator(
        "PythonFunctionGradient", reads, writes, args, None if device == CPU else device, is_gradient=True
    ), g_input


@register_kernel("PythonFunctionGradient")
def python_function_gradient(op: Operator, *reads: Array) -> tuple[Array, ...]:
    """What the function's backward method returns; zeros where that is None."""
    function = _function_of(op)
    given, wanted = op.arg("given"), op.arg("wanted")
    xs = reads[: len(reads) - len(given)]
    if any(x is not own for x, own in zip(xs, function.in_data, strict=True)):
        function = function.run_again(xs)
    gys: list[Array | None] = [None] * function.count
    for at, gy in zip(given, reads[len(xs) :], strict=True):
        gys[at] = gy
    gxs: Sequence[Any] = function.input_gradients(gys, function.wanted)
    return tuple([zeros_like(xs[at]) if gxs[at] is None else gxs[at] for at in wanted])


@register_kernel("NewData")
def new_data(op: Operator, x: Array, data: Array) -> Array:
    """The data that x was given."""
    return data


@register_gradient("NewData")
def new_data_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return [], [g_output[0], None]
