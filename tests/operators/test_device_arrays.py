"""Kernels on arrays that live elsewhere: they answer to numpy's protocols and never become numpy arrays, as CuPy's."""

from typing import Any

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradviz.operators import lookup
from gradviz.program import Operator
from tests.operators.cases import CASES, Case
from tests.operators.test_gradients import seeds

METHODS = ("all", "any", "argmax", "astype", "copy", "max", "min", "reshape", "squeeze", "sum")
"""Methods of numpy's arrays that CuPy's have with the same meaning, as far as kernels call them."""


class DeviceArray(NDArrayOperatorsMixin):
    """An array behind numpy's protocols, which refuses to meet a numpy array or to become one."""

    def __init__(self, hidden: Any) -> None:
        self.hidden = np.asarray(hidden)

    shape = property(lambda self: self.hidden.shape)
    dtype = property(lambda self: self.hidden.dtype)
    size = property(lambda self: self.hidden.size)
    ndim = property(lambda self: self.hidden.ndim)
    T = property(lambda self: DeviceArray(self.hidden.T))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a device array became a numpy array")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return outside(getattr(ufunc, method)(*inside(inputs), **inside(options)))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return outside(function(*inside(args), **inside(options)))

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        method = getattr(self.hidden, name)
        return lambda *args, **options: outside(method(*inside(args), **inside(options)))

    def __getitem__(self, key: Any) -> Any:
        return outside(self.hidden[inside(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.hidden[inside(key)] = inside(value)

    def __len__(self) -> int:
        return len(self.hidden)

    def __bool__(self) -> bool:
        return bool(self.hidden)

    def __int__(self) -> int:
        return int(self.hidden)

    def tolist(self) -> Any:
        return self.hidden.tolist()


def inside(value: Any) -> Any:
    """`value` with the arrays that device arrays hide."""
    if isinstance(value, np.ndarray):
        raise TypeError("a numpy array met a device array")
    if isinstance(value, DeviceArray):
        return value.hidden
    if isinstance(value, list | tuple):
        return type(value)(inside(item) for item in value)
    return {key: inside(item) for key, item in value.items()} if isinstance(value, dict) else value


def outside(value: Any) -> Any:
    """`value` with every array and numpy scalar as a device array."""
    if isinstance(value, np.ndarray | np.generic):
        return DeviceArray(value)
    return type(value)(outside(item) for item in value) if isinstance(value, list | tuple) else value


def run(op: Operator, blobs: dict[str, Any]) -> None:
    """Run the kernel of `op` on `blobs` and store its outputs there."""
    known = lookup(op.type)
    assert known is not None
    assert known.kernel is not None
    result = known.kernel(op, *[blobs[name] for name in op.inputs])
    blobs.update(zip(op.outputs, result if isinstance(result, tuple) else (result,), strict=True))


@pytest.mark.parametrize("case", [case for case in CASES if case.inputs], ids=str)
def test_kernels_stay_on_the_device(case: Case) -> None:
    blobs: dict[str, Any] = {**case.values()}
    program = [case.op]
    if case.known.rule is not None:
        given = seeds(case, blobs)
        blobs.update({f"given_{name}": seed for name, seed in given.items()})
        made, _ = case.known.rule(case.op, [f"given_{name}" if name in given else None for name in case.writes])
        program.extend([made] if isinstance(made, Operator) else made or ())
    on_device: dict[str, Any] = {name: DeviceArray(array) for name, array in blobs.items()}
    for op in program:
        run(op, blobs)
        run(op, on_device)
        for name in op.outputs:
            assert isinstance(on_device[name], DeviceArray)
            np.testing.assert_array_equal(on_device[name].hidden, blobs[name])
