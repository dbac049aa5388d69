"""Keeping the values of a define-by-run pass, in a store where there is a budget.

What the code has computed is kept by its Variables anyway, so it counts as fed; what the pass makes can be given up.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...operators import lookup
from ...operators.registry import Array, Kernel
from ...program import Operator
from ...program.net_halves import Key
from ...runtime.held import Held
from ...runtime.shelf import Shelf
from ...runtime.watched import remember
from ..plan import as_outputs


def keep_given(values: MutableMapping[Key, Array], given: Mapping[str, Array]) -> None:
    """Keep what was there before the pass, each as the first version of its name."""
    first = {(name, 0): array for name, array in given.items()}
    if isinstance(values, Shelf):
        values.feed(first)
    else:
        values.update(first)


def remember_operator(
    values: MutableMapping[Key, Array],
    op: Operator,
    reads: Sequence[int],
    writes: Sequence[int],
    seconds: float | None,
    *,
    by_kernel: bool,
) -> None:
    """Where there is a budget, note how to make again what an operator has written.

    Args:
        by_kernel: whether its kernel has made that. What the engine has computed in its own way is tried, each one.
    """
    known = lookup(op.type)
    if not isinstance(values, Shelf) or known is None or known.kernel is None or not known.is_repeatable:
        return
    keys = list(zip(op.outputs, writes, strict=True))
    lying = [values.held(key) for key in (*zip(op.inputs, reads, strict=True), *keys)]
    if all(not isinstance(one, Held) or one.device.type == "cpu" for one in lying):
        kind = None if by_kernel and known.is_kernel_ours else object()
        remember(values, op, reads, keys, kind, partial(_run_again, known.kernel, op), seconds or 0.0)


def _run_again(kernel: Kernel, op: Operator, arrays: Sequence[Any]) -> list[Array]:
    """What an operator makes of what it reads, read-only, as far as it has outputs."""
    with np.errstate(all="ignore"):
        made = list(as_outputs(kernel(op, *arrays), len(op.outputs)))
    for array in made:
        array.setflags(write=False)
    return made


def settle(values: MutableMapping[Key, Array]) -> None:
    """Where there is a budget, give up what does not fit."""
    if isinstance(values, Shelf):
        values.store.settle()
