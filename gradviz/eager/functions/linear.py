"""Products of matrices, and what is linear in each of its inputs."""

from ..call import Call
from ..variable import Operand, Variable
from .calling import call
from .conversion import floating

_fc, _without_bias = Call("linear", "FC"), Call("linear", "MatMul", {"trans_b": 1})


def matmul(a: Operand, b: Operand, transa: bool = False, transb: bool = False) -> Variable:
    """Matrix product a·b as numpy's matmul: of vectors, matrices, and batches of matrices that broadcast.

    Args:
        transa, transb: whether the last two dimensions of a or b are exchanged first; of a vector nothing is.
    """
    a, b = floating(a, b)
    args = {"trans_a": int(transa), "trans_b": int(transb)}
    if a.ndim == b.ndim == 2:
        return call("matmul", "MatMul", **args)(a, b)
    return call("matmul", "BatchMatMul", **args, broadcast=1)(a, b)


def linear(x: Operand, w: Operand, b: Operand | None = None) -> Variable:
    """x·wᵀ + b. x: (n, k), or (n, ...) of k numbers each, w: (m, k), b: (m,) -> (n, m)."""
    return _without_bias(x, w) if b is None else _fc(x, w, b)


def einsum(subscripts: str, *xs: Operand) -> Variable:
    """Sums of products by Einstein's notation, as numpy's einsum: ``einsum("ij,jk->ik", a, b)``."""
    return call("einsum", "Einsum", equation=subscripts)(*xs)
