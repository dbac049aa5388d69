"""Keeping the values of a define-by-run pass, in a store where there is a budget.

What the code has computed is kept by its Variables anyway, so it counts as fed; what the pass makes can be given up.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from functools import partial

from ...operators.registry import Array
from ...program import Operator
from ...runtime.held import Held
from ...runtime.shelf import Shelf
from ..nets import Key
from ..storing import plan_again, remember, repeats


def keep_given(values: MutableMapping[Key, Array], given: Mapping[str, Array]) -> None:
    """Keep what was there before the pass, each as the first version of its name."""
    first = {(name, 0): array for name, array in given.items()}
    if isinstance(values, Shelf):
        values.feed(first)
    else:
        values.update(first)


def remember_operator(
    values: MutableMapping[Key, Array], op: Operator, reads: Sequence[int], writes: Sequence[int], seconds: float | None
) -> None:
    """Where there is a budget, note how to make again what an operator has written.

    The engine may have computed it in another way than the operator's kernel, so each one is tried.
    """
    if not isinstance(values, Shelf) or not repeats(op):
        return
    keys = list(zip(op.outputs, writes, strict=True))
    lying = [values.held(key) for key in (*zip(op.inputs, reads, strict=True), *keys)]
    if all(not isinstance(one, Held) or one.device.type == "cpu" for one in lying):
        remember(values, op, reads, keys, object(), partial(plan_again, op), seconds or 0.0)


def settle(values: MutableMapping[Key, Array]) -> None:
    """Where there is a budget, give up what does not fit."""
    if isinstance(values, Shelf):
        values.store.settle()
