"""Kernels on CuPy's arrays: they stay on the GPU, give what they give on the CPU, and never write into inputs."""

from typing import Any

import numpy as np
import pytest

from gradviz.operators import lookup
from gradviz.program import Operator
from tests.families import over
from tests.operators.cases import CASES, Array, Case
from tests.operators.test_gradients import seeds

FLOATS = {np.float64: 1e-9, np.float32: 1e-4}
"""dtype -> how far, in proportion to the largest element, a GPU may be off: it adds up in another order."""


def program(case: Case, values: dict[str, Array]) -> tuple[list[Operator], dict[str, Array]]:
    """The operator of `case` and those of its gradient, and what they read."""
    if case.known.rule is None:
        return [case.op], values
    given = seeds(case, values)
    made, _ = case.known.rule(case.op, [f"given_{name}" if name in given else None for name in case.writes])
    gradients = [made] if isinstance(made, Operator) else made or []
    return [case.op, *gradients], {**values, **{f"given_{name}": seed for name, seed in given.items()}}


def run(op: Operator, blobs: dict[str, Any]) -> None:
    """Run the kernel of `op` on `blobs` and store its outputs there."""
    known = lookup(op.type)
    assert known is not None
    assert known.kernel is not None
    result = known.kernel(op, *[blobs[name] for name in op.inputs])
    blobs.update(zip(op.outputs, result if isinstance(result, tuple) else (result,), strict=True))


@pytest.mark.parametrize("dtype", FLOATS, ids=["float64", "float32"])
@over(case for case in CASES if case.inputs)
def test_kernels_stay_on_the_gpu(case: Case, cupy: Any, dtype: Any) -> None:
    operators, read = program(case, case.values(dtype))
    on_cpu: dict[str, Any] = dict(read)
    on_gpu = {name: cupy.asarray(array) for name, array in read.items()}
    fed = dict(on_gpu)
    with np.errstate(all="ignore"):
        for op in operators:
            run(op, on_cpu)
            run(op, on_gpu)
            for name in op.outputs:
                assert isinstance(on_gpu[name], cupy.ndarray)
                assert on_gpu[name].dtype == on_cpu[name].dtype
                scale = max([1, *np.abs(on_cpu[name][np.isfinite(on_cpu[name])]).ravel()])
                np.testing.assert_allclose(on_gpu[name].get(), on_cpu[name], FLOATS[dtype], FLOATS[dtype] * scale, name)
    for name, array in fed.items():
        np.testing.assert_array_equal(array.get(), read[name], f"a kernel wrote into {name}")
