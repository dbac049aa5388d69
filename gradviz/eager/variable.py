"""Variable: an array that remembers which function made it of which other Variables, so that gradients find back."""

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operators.registry import NUMERIC, Array
from ..program import Device, RunError
from ..program.errors import message_of, shorten
from ..runtime.devices import (
    CPU,
    as_array,
    copied,
    current,
    device_here,
    device_of,
    guarded,
    is_guarded,
    is_on_gpu,
    moved,
)
from . import gradients

if TYPE_CHECKING:
    from .function import Function
    from .tape import Sharing

NUMBERS = (float, int, bool)
"""Python's plain numbers; those of numpy have a dtype of their own."""

Operand = Any
"""A Variable, or what a constant one can be made of: an array, a number, a list of equal rows."""


def _comparison(operation: Callable[[Array, Any], Array]) -> Any:
    """The operator of a Variable that gives truth values, where the Variable lies."""

    def compared(x: "Variable", other: Operand) -> Array:
        with current(x.device):
            return operation(x._array, plain(other))

    return compared


class Variable:
    """An array in a computation that is recorded while it runs.

    Arithmetic works as numpy's, with Variables, arrays and numbers on either side, and so do the methods that numpy's
    arrays have too. Comparisons give plain boolean arrays: they have no gradient.

    ``data`` is read-only: a backward pass may still need it. To change it, give new data: ``x.data = x.data - step``.

    Attributes:
        data: the array, numpy's or CuPy's; a copy of what was given, so that nothing written elsewhere changes it.
        grad: the gradient that backward passes left here, an array of its own (a Variable after
            ``backward(create_graph=True)``), or None: not computed.
        creator: the function that returned it; None for a leaf.
        place: which of the outputs of its creator it is.
        rank: how many functions lie on the longest way to it from a leaf; a Variable that is cut off keeps its rank.
        requires_grad: whether gradients are computed for it. Only floating-point arrays have any.
        name: what messages and drawings call it.

    Args:
        data: an array, a number, a list of equal rows; its dtype is kept.
        requires_grad: False for what is given: data, labels.

    Raises:
        RunError: ``bad_value``, no array of numbers or truth values can be made of `data`.

    Example:
        >>> x = Variable([1.0, 2.0])
        >>> y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        array([2., 4.])
    """

    __slots__ = (
        "__weakref__",
        "_array",
        "_creator",
        "_grad",
        "_grad_is_given",
        "name",
        "place",
        "rank",
        "requires_grad",
    )

    __array_ufunc__ = None
    """array + Variable is left to Variable; numpy's functions refuse one, since they would lose its gradient."""

    def __init__(self, data: Any, requires_grad: bool = True, name: str | None = None) -> None:
        self._array = data_array(data)
        self._grad: Array | Variable | None = None
        self._grad_is_given = False
        self._creator: Function | None = None
        self.place = 0
        self.rank = 0
        self.requires_grad = requires_grad and self._array.dtype.kind == "f"
        self.name = name

    @property
    def data(self) -> Array:
        return self._array

    @data.setter
    def data(self, data: Any) -> None:
        array = data_array(data)
        if self._grad is not None and (array.shape, array.dtype) != (self.shape, self.dtype):
            self.cleargrad()
        self._array = array

    @property
    def grad(self) -> Any:
        return self._grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._grad = None if gradient is None else checked_gradient(self, gradient)
        self._grad_is_given = gradient is not None

    @property
    def creator(self) -> "Function | None":
        function = self._creator
        return None if function is None or function.is_cut else function

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return len(self._array.shape)

    @property
    def size(self) -> int:
        return int(self._array.size)

    @property
    def device(self) -> Device:
        return device_of(self._array)

    def cleargrad(self) -> None:
        """Forget the gradient."""
        self.grad = None

    def detach(self) -> "Variable":
        """The same data in a leaf that requires no gradient."""
        return Variable(self, requires_grad=False, name=self.name)

    def item(self) -> Any:
        """The one element as a Python number."""
        return self._array.reshape(-1)[0].item() if self.size == 1 else self._array.item()

    def __pos__(self) -> "Variable":
        return self

    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)
    __eq__ = _comparison(operator.eq)
    __ne__ = _comparison(operator.ne)
    __hash__ = object.__hash__

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("A Variable of one number has no length.")
        return self.shape[0]

    def __iter__(self) -> Iterator["Variable"]:
        return (self[row] for row in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._array)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The data as a numpy array, read-only unless it is converted or copied."""
        array = moved(self._array, CPU)
        return np.array(array, dtype) if copy or dtype not in (None, array.dtype) else array

    def __repr__(self) -> str:
        notes = [f"name={self.name!r}"] if self.name else []
        if not self.requires_grad:
            notes.append("requires_grad=False")
        if self.device != CPU:
            notes.append(f"device='{self.device}'")
        text = np.array2string(moved(self._array, CPU), separator=", ", prefix=f"{type(self).__name__}(")
        dtype = [] if self.dtype in (np.float64, np.int64, np.bool_) else [f"dtype={self.dtype}"]
        return f"{type(self).__name__}({', '.join([text, *dtype, *notes])})"

    if TYPE_CHECKING:  # what `methods` installs

        @property
        def T(self) -> "Variable": ...
        def backward(
            self,
            gradient: Any = None,
            retain_grad: bool = False,
            schedule: str = "rank",
            create_graph: bool = False,
            share_grads: bool = False,
        ) -> Sharing | None: ...
        def unchain(self) -> None: ...
        def unchain_backward(self) -> None: ...
        def to_cpu(self) -> "Variable": ...
        def to_gpu(self, id: int = 0) -> "Variable": ...
        def _reduced(self, axis: Any = None, keepdims: bool = False) -> "Variable": ...

        sum = mean = var = std = prod = max = min = _reduced

        def _along(self, axis: int | None = None) -> "Variable": ...

        argmax = argmin = cumsum = _along

        def clip(self, least: float | None = None, most: float | None = None) -> "Variable": ...
        def reshape(self, *shape: Any) -> "Variable": ...
        def transpose(self, *axes: Any) -> "Variable": ...
        def swapaxes(self, axis1: int, axis2: int) -> "Variable": ...
        def flatten(self) -> "Variable": ...
        def squeeze(self, axis: Any = None) -> "Variable": ...
        def repeat(self, repeats: int, axis: int | None = None) -> "Variable": ...
        def take(self, indices: Operand, axis: int | None = None) -> "Variable": ...
        def astype(self, dtype: Any) -> "Variable": ...
        def _beside(self, other: Operand) -> "Variable": ...

        __add__ = __sub__ = __mul__ = __truediv__ = __pow__ = __matmul__ = _beside
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __rmatmul__ = _beside

        def __neg__(self) -> "Variable": ...
        def __abs__(self) -> "Variable": ...
        def __getitem__(self, index: Any) -> "Variable": ...


class Parameter(Variable):
    """A leaf that is learned: a Variable of a `Layer`, which finds its parameters by this type."""

    __slots__ = ()

    def __init__(self, data: Any, name: str | None = None) -> None:
        super().__init__(data, requires_grad=True, name=name)


def data_array(data: Any) -> Array:
    """`data` as an array that nobody can write into: itself where it is `guarded`, or a copy.

    A copy of what lies on the host is where the `gradviz.device` block around says.
    """
    if type(data) is np.ndarray and data.dtype.kind in NUMERIC and data.dtype.isnative and is_guarded(data):
        return data
    if isinstance(data, Variable):
        return data._array
    if isinstance(data, list | tuple) and any(isinstance(item, Variable) for item in data):
        raise _not_numeric("it holds Variables, whose gradients would be lost", "Join them: functions.stack(xs).")
    where = device_of(data) if is_on_gpu(data) else device_here()
    try:
        array = copied(as_array(data), where)
    except Exception as error:
        raise _not_numeric(f"no array can be made of it ({message_of(error)})") from error
    if array.dtype.kind not in NUMERIC:
        raise _not_numeric(f"its dtype would be {array.dtype}")
    return array


def _not_numeric(why: str, *ways_out: str) -> RunError:
    return RunError(
        f"This cannot be the data of a Variable: {why}.",
        kind="bad_value",
        ways_out=ways_out or ["Give numbers or truth values: an array, a list of equal rows, a number."],
    )


def checked_gradient(x: Variable, gradient: Any) -> Array | Variable:
    """A copy of `gradient`, which a person gives for `x`, or itself where it is a Variable.

    Raises:
        GradientError: ``bad_gradient``, it is of another type, shape, dtype or device than the data.
    """
    array = gradients.checked_array(x, plain(gradient), x._array)
    if isinstance(gradient, Variable):
        return gradient
    with current(x.device):
        copy: Array = array.copy()
        return copy


def plain(value: Any) -> Any:
    """The array of a Variable, anything else as it is."""
    return value._array if isinstance(value, Variable) else value


def as_variables(values: tuple[Operand, ...]) -> tuple[Variable, ...]:
    """`values`, constants among them as Variables that require no gradient.

    A plain number takes the dtype that numpy gives it beside the first Variable among them; what is no array lies on
    its device.
    """
    like = next((value for value in values if isinstance(value, Variable)), None)
    return tuple([value if isinstance(value, Variable) else _constant(value, like) for value in values])


def _constant(value: Operand, like: Variable | None) -> Variable:
    if like is None or type(value) not in NUMBERS:
        return placed(value, like)
    try:
        array = np.array(value, like.dtype if like.dtype.kind == "f" else np.result_type(like.dtype, value))
    except OverflowError:
        raise RunError(
            f"{shorten(str(value))} is beyond the numbers of {like.dtype}, the dtype of what it meets.",
            kind="bad_value",
            ways_out=["Convert that first: functions.cast(x, float)."],
        ) from None
    return Variable(moved(guarded(array), like.device), requires_grad=False)


def placed(value: Operand, like: Variable | None) -> Variable:
    """`value` as a Variable that requires no gradient; what is no array lies where `like` does."""
    if like is None or hasattr(value, "dtype"):
        return Variable(value, requires_grad=False)
    return Variable(moved(data_array(value), like.device), requires_grad=False)
