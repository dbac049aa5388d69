"""CuPy without a GPU: arrays that lie elsewhere, answer to numpy's protocols, and never become numpy arrays unasked.

It takes what CuPy 14 takes and refuses what that refuses: functions and arguments that it does not have, arrays of the
host, and arrays of another GPU than the current one. A function that is missing here may exist in CuPy: look, then add
it.
"""

from collections import Counter
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

FUNCTIONS = {
    "arange": "start stop step dtype",
    "argmax": "a axis dtype out keepdims",
    "argmin": "a axis dtype out keepdims",
    "argsort": "a axis kind",
    "array": "obj dtype copy order subok ndmin blocking",
    "bincount": "x weights minlength",
    "broadcast_to": "array shape",
    "concatenate": "tup axis out dtype casting",
    "copyto": "dst src casting where",
    "count_nonzero": "a axis",
    "cumsum": "a axis dtype out",
    "einsum": "subscripts x y z t u v out dtype order casting optimize",
    "empty": "shape dtype order",
    "empty_like": "prototype dtype order subok shape",
    "expand_dims": "a axis",
    "flatnonzero": "a",
    "flip": "a axis",
    "full_like": "a fill_value dtype order subok shape",
    "mean": "a axis dtype out keepdims",
    "moveaxis": "a source destination",
    "ones_like": "a dtype order subok shape",
    "pad": "array pad_width mode constant_values",
    "repeat": "a repeats axis",
    "searchsorted": "a v side sorter",
    "split": "ary indices_or_sections axis",
    "stack": "tup axis out dtype casting",
    "swapaxes": "a axis1 axis2",
    "take": "a indices axis out",
    "take_along_axis": "a indices axis",
    "tile": "A reps",
    "transpose": "a axes",
    "unique": "ar return_index return_inverse return_counts axis equal_nan",
    "vdot": "a b",
    "where": "condition x y",
    "zeros": "shape dtype order",
    "zeros_like": "a dtype order subok shape",
}
"""numpy's functions that CuPy has, with the names of the parameters that CuPy's takes."""

METHODS = {
    "all": "axis out keepdims",
    "any": "axis out keepdims",
    "argmax": "axis out dtype keepdims",
    "astype": "dtype order casting subok copy",
    "max": "axis out keepdims",
    "mean": "axis dtype out keepdims",
    "min": "axis out keepdims",
    "nonzero": "",
    "prod": "axis dtype out keepdims",
    "ravel": "order",
    "squeeze": "axis",
    "sum": "axis dtype out keepdims",
    "view": "dtype",
}
"""The same for methods; reshape and copy stand below."""

ELEMENTWISE = """
absolute add arccos arcsin arctan bitwise_and bitwise_or bitwise_xor cbrt ceil copysign cos cosh divide equal exp exp2
expm1 floor fmod greater greater_equal invert isfinite isinf isnan less less_equal log log1p log2 logaddexp logical_and
logical_not logical_or logical_xor matmul maximum minimum multiply negative not_equal power remainder right_shift sign
sin sinh sqrt square subtract tan tanh
"""
"""numpy's ufuncs that CuPy has."""

SCATTERED = {"add": "efdilIL", "maximum": "fdilIL"}
"""The dtypes, by numpy's letters, whose elements CuPy adds up or compares at places that an index names."""


WORK: Counter[str] = Counter()
"""What was done so far: ``kernels``, copies ``to_gpu``, ``to_host`` and ``between_gpus``, ``reads`` of one number or
truth value, for which the host waits, and ``synchronisations``."""


class Device:
    """A GPU; while a ``with`` block of it lasts, it is the current one."""

    current: ClassVar[list[int]] = [0]

    def __init__(self, id: int) -> None:
        self.id = id

    def __enter__(self) -> "Device":
        self.current.append(self.id)
        return self

    def __exit__(self, *_: object) -> None:
        self.current.pop()

    def synchronize(self) -> None:
        """Nothing is ever under way."""
        WORK["synchronisations"] += 1


class ndarray(NDArrayOperatorsMixin):
    """An array on the GPU that was current when it was made."""

    def __init__(self, hidden: Any) -> None:
        self.hidden = np.asarray(hidden)
        self.device = Device(Device.current[-1])

    shape = property(lambda self: self.hidden.shape)
    dtype = property(lambda self: self.hidden.dtype)
    size = property(lambda self: self.hidden.size)
    ndim = property(lambda self: self.hidden.ndim)
    T = property(lambda self: outside(inside(self).T))
    real = property(lambda self: outside(inside(self).real))
    imag = property(lambda self: outside(inside(self).imag))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc.__name__ not in ELEMENTWISE.split() or not options.keys() <= {"out", "dtype", "casting"}:
            raise TypeError(f"CuPy has no {ufunc.__name__} that takes {[*options]}")
        if method == "at" and inputs[0].dtype.char not in SCATTERED[ufunc.__name__]:
            raise TypeError(f"CuPy's {ufunc.__name__}.at takes no {inputs[0].dtype}")
        if method not in ("__call__", "at"):
            raise TypeError(f"CuPy has no {ufunc.__name__}.{method}")
        WORK["kernels"] += 1
        return outside(getattr(ufunc, method)(*inside(inputs), **inside(options)))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        check_call(FUNCTIONS, function.__name__, args, options)
        if "shape" in options and not options["shape"] and function.__name__.endswith("_like"):
            raise TypeError(f"CuPy's {function.__name__} takes the shape () for none given")
        WORK["kernels"] += 1
        return outside(function(*inside(args), **inside(options)))

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)

        def method(*args: Any, **options: Any) -> Any:
            check_call(METHODS, name, args, options)
            WORK["kernels"] += 1
            return outside(getattr(inside(self), name)(*inside(args), **inside(options)))

        return method

    def reshape(self, *shape: Any) -> Any:
        return outside(inside(self).reshape(*shape))

    def copy(self) -> "ndarray":
        """A copy on the current GPU, from whichever."""
        WORK["kernels" if self.device.id == Device.current[-1] else "between_gpus"] += 1
        return ndarray(self.hidden.copy())

    def get(self) -> Any:
        """A copy on the host."""
        WORK["to_host"] += 1
        return np.array(self.hidden)

    def tolist(self) -> Any:
        WORK["to_host"] += 1
        return self.hidden.tolist()

    def __getitem__(self, key: Any) -> Any:
        return outside(inside(self)[inside(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        inside(self)[inside(key)] = inside(value)

    def __len__(self) -> int:
        return len(self.hidden)

    def __bool__(self) -> bool:
        WORK["reads"] += 1
        return bool(self.hidden)

    def __int__(self) -> int:
        WORK["reads"] += 1
        return int(self.hidden)

    def __float__(self) -> float:
        WORK["reads"] += 1
        return float(self.hidden)


def check_call(table: dict[str, str], name: str, args: Any, options: Any) -> None:
    """Raise TypeError unless CuPy's function or method `name` takes these arguments."""
    if name not in table:
        raise TypeError(f"CuPy has no {name}, or it is not listed here")
    parameters = table[name].split()
    if len(args) > len(parameters) or not options.keys() <= set(parameters[len(args) :]):
        raise TypeError(f"CuPy's {name} takes {parameters}, not {len(args)} arguments and {[*options]}")


def inside(value: Any) -> Any:
    """`value` with the arrays that those of the current GPU hide."""
    if isinstance(value, np.ndarray):
        raise TypeError("an array of the host met one of a GPU")
    if isinstance(value, ndarray):
        if value.device.id != Device.current[-1]:
            raise ValueError(f"an array of GPU {value.device.id} is used while GPU {Device.current[-1]} is current")
        return value.hidden
    if isinstance(value, list | tuple):
        return type(value)(inside(item) for item in value)
    return {key: inside(item) for key, item in value.items()} if isinstance(value, dict) else value


def outside(value: Any) -> Any:
    """`value` with every array and numpy scalar as an array on the current GPU."""
    if isinstance(value, np.ndarray | np.generic):
        return ndarray(value)
    return type(value)(outside(item) for item in value) if isinstance(value, list | tuple) else value


def asarray(value: Any) -> ndarray:
    """`value` on the current GPU."""
    if not isinstance(value, ndarray) and np.asarray(value).dtype.kind not in "biufc":
        raise ValueError(f"Unsupported dtype {np.asarray(value).dtype}")
    WORK["to_gpu"] += not isinstance(value, ndarray)
    return value if isinstance(value, ndarray) else ndarray(np.array(value))


def stand_in(gpus: int) -> Any:
    """A module to import as cupy, on a machine with so many GPUs."""
    module: Any = ModuleType("cupy")
    module.__version__ = "14.0"
    module.ndarray, module.asarray = ndarray, asarray
    module.cuda = SimpleNamespace(
        Device=Device, is_available=lambda: gpus > 0, runtime=SimpleNamespace(getDeviceCount=lambda: gpus)
    )
    return module
