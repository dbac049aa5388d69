"""What a pass makes of ``grad`` of each Variable: versions of a blob x.grad, what it held and what was written."""

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

from ...eager.expression import Expression
from ...eager.passes import Change
from ...eager.variable import plain
from ...operators.registry import Array
from ...program.events import GradWritten, Writing
from ...runtime.devices import copied, device_of
from ..nets import Key
from .names import GradientNames


class Grads:
    """Every ``grad`` before and after a pass.

    Args:
        values: where their values are kept, by blob version.

    Attributes:
        held: the Variables that hold a gradient before the pass -> its version.
    """

    def __init__(self, expression: Expression, names: GradientNames, values: MutableMapping[Key, Array]) -> None:
        self._expression = expression
        self._names = names
        self._values = values
        self._blobs: dict[str, str] = {}
        self.held = {
            name: self._version(name, x.grad)
            for name, x in expression.variables.items()
            if x.grad is not None and expression.name_of(x) == name
        }

    def written(self, changes: Iterable[Change]) -> Iterator[GradWritten]:
        """What becomes of every ``grad``; by which gradient of the pass is not known here."""
        for change in changes:
            name, after = self._expression.name_of(change.x), change.gradient
            if name is None or (change.x.grad is None and after is None):
                continue
            version = None if after is None else self._version(name, after)
            yield GradWritten(name, _writing(change), None, self.held.get(name), version)

    def _version(self, name: str, gradient: Any) -> str:
        """A new version of ``grad`` of a Variable."""
        number = 0
        if name in self._blobs:
            number = 1
        else:
            self._blobs[name] = self._names.fresh(f"{name}.grad")
        array = plain(gradient)
        self._values[self._blobs[name], number] = copied(array, device_of(array))
        return f"{self._blobs[name]}@{number}"


def _writing(change: Change) -> Writing:
    if change.gradient is None:
        return "dropped"
    if change.x.grad is None:
        return "new"
    return "added" if change.x.creator is None else "replaced"
