"""Products of matrices, and convolution and pooling of batches of images (n, c, h, w).

Sizes of images are a number, or one for height, one for width.
"""

from collections.abc import Sequence
from typing import Any

from ..call import Call
from ..variable import Operand, Variable
from .calling import call, floating, variable
from .options import flag, no_option, sizes, text, whole

__all__ = ["average_pooling_2d", "convolution_2d", "deconvolution_2d", "einsum", "linear", "matmul", "max_pooling_2d"]

_fc, _without_bias = Call("linear", "FC"), Call("linear", "MatMul", {"trans_b": 1})


def matmul(a: Operand, b: Operand, transa: bool = False, transb: bool = False) -> Variable:
    """Matrix product a·b as numpy's matmul: of vectors, matrices, and batches of matrices that broadcast.

    Args:
        transa, transb: whether the last two dimensions of a or b are exchanged first; of a vector nothing is.
    """
    a, b = floating(a, b)
    args = {"trans_a": flag("matmul", "transa", transa), "trans_b": flag("matmul", "transb", transb)}
    if a.ndim == b.ndim == 2:
        return call("matmul", "MatMul", **args)(a, b)
    return call("matmul", "BatchMatMul", **args, broadcast=1)(a, b)


def linear(x: Operand, w: Operand, b: Operand | None = None) -> Variable:
    """x·wᵀ + b. x: (n, k), or (n, ...) of k numbers each, w: (m, k), b: (m,) -> (n, m)."""
    return _without_bias(x, w) if b is None else _fc(x, w, b)


def einsum(subscripts: str, *xs: Operand) -> Variable:
    """Sums of products by Einstein's notation, as numpy's einsum: ``einsum("ij,jk->ik", a, b)``."""
    return call("einsum", "Einsum", equation=text("einsum", "subscripts", subscripts))(*xs)


Size = int | Sequence[int]


def convolution_2d(
    x: Operand, w: Operand, b: Operand | None = None, stride: Size = 1, pad: Size = 0, dilate: Size = 1, groups: int = 1
) -> Variable:
    """Filters that slide over images. x: (n, c, h, w), w: (m, c / groups, k, l), b: (m,) -> (n, m, h', w').

    h' = ⌊(h + 2 pad - dilate (k - 1) - 1) / stride⌋ + 1, w' likewise.
    """
    name = "convolution_2d"
    args: dict[str, Any] = {"strides": _pair(name, "stride", stride), "pads": _pair(name, "pad", pad) * 2}
    args |= {"dilations": _pair(name, "dilate", dilate), "group": whole(name, "groups", groups)}
    return call(name, "Conv2D", **args)(x, w, *[] if b is None else [b])


def deconvolution_2d(x: Operand, w: Operand, b: Operand | None = None, stride: Size = 1, pad: Size = 0) -> Variable:
    """What sends gradients back through a convolution. x: (n, m, h, w), w: (m, c, k, l), b: (c,) -> (n, c, h', w').

    h' = (h - 1) stride + k - 2 pad, w' likewise.
    """
    name = "deconvolution_2d"
    args = {"strides": _pair(name, "stride", stride), "pads": _pair(name, "pad", pad) * 2}
    return call(name, "ConvTranspose", **args)(x, w, *[] if b is None else [b])


def max_pooling_2d(
    x: Operand, ksize: Size, stride: Size | None = None, pad: Size = 0, cover_all: bool = True
) -> Variable:
    """The largest element under each window of `ksize`; equal ones share the gradient.

    Args:
        stride: from one window to the next; None: the size of one.
        cover_all: whether windows go on until they have covered every element, beyond the last margin.
    """
    name = "max_pooling_2d"
    x, kernel, margin = variable(x), _pair(name, "ksize", ksize), _pair(name, "pad", pad)
    step = kernel if stride is None else _pair(name, "stride", stride)
    behind = margin
    if flag(name, "cover_all", cover_all) and x.ndim == 4 and all(step):
        spare = [size + 2 * p - k for size, p, k in zip(x.shape[2:], margin, kernel, strict=True)]
        behind = tuple([p + -s % t for p, s, t in zip(margin, spare, step, strict=True)])
    return call(name, "MaxPool2D", kernels=kernel, strides=step, pads=margin + behind)(x)


def average_pooling_2d(x: Operand, ksize: Size, stride: Size | None = None, pad: Size = 0) -> Variable:
    """The mean of the elements under each window of `ksize`, in which elements of the margins count as zeros.

    Args:
        stride: from one window to the next; None: the size of one.
    """
    name = "average_pooling_2d"
    kernel, margin = _pair(name, "ksize", ksize), _pair(name, "pad", pad)
    args: dict[str, Any] = {"kernels": kernel, "pads": margin * 2, "count_include_pad": 1}
    args["strides"] = kernel if stride is None else _pair(name, "stride", stride)
    return call(name, "AveragePool2D", **args)(x)


def _pair(function: str, option: str, size: Size) -> tuple[int, ...]:
    """(height, width), which may be given as one integer."""
    lengths = sizes(function, option, size)
    if len(lengths) not in (1, 2):
        raise no_option(function, option, size, "one integer or two")
    return lengths * 2 if len(lengths) == 1 else lengths
