"""What a pass makes of ``grad`` of each Variable: versions of a blob x.grad, what it held and what was written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from ...operators.registry import Array
from ...program import Gradient
from ...program.events import GradWritten, Writing
from ...program.net_halves import Key
from ...runtime.devices import copied, device_of
from ..expression import Expression
from ..passes import Change
from ..variable import Variable, plain


class NotedChange(NamedTuple):
    """What a pass makes of ``grad`` of x, kept as it was; `after`: the gradient, None for none."""

    x: Variable
    how: Writing
    after: Array | None


def copies(holding: Iterable[Variable]) -> dict[Variable, Array]:
    """What Variables hold for a gradient, as it is now."""
    return {x: _copy(x.grad) for x in dict.fromkeys(holding)}


def noted(changes: Iterable[Change]) -> list[NotedChange]:
    """What becomes of every ``grad`` that is something before or after."""
    return [
        NotedChange(change.x, _writing(change), None if change.gradient is None else _copy(change.gradient))
        for change in changes
        if change.x.grad is not None or change.gradient is not None
    ]


class Grads:
    """Every ``grad`` before and after a pass, by name.

    Args:
        held: what Variables hold before it.
        fresh: makes a name that is not in use.
        values: where their values are kept, by blob version.

    Attributes:
        held: the names of the Variables that hold a gradient before the pass -> its version.
    """

    def __init__(
        self,
        expression: Expression,
        held: Mapping[Variable, Array],
        fresh: Callable[[str], str],
        values: MutableMapping[Key, Array],
    ) -> None:
        self._expression = expression
        self._fresh = fresh
        self._values = values
        self._blobs: dict[str, str] = {}
        self.held = {
            name: self._version(name, held[x])
            for name, x in expression.variables.items()
            if x in held and expression.name_of(x) == name
        }

    def written(
        self, changes: Sequence[NotedChange], gradient_of: Callable[[str], Gradient | None]
    ) -> Iterator[GradWritten]:
        """What becomes of every ``grad``, by the gradient that the pass has brought."""
        for x, how, after in changes:
            name = self._expression.name_of(x)
            if name is not None:
                version, gradient = (None, None) if after is None else (self._version(name, after), gradient_of(name))
                yield GradWritten(name, how, gradient, self.held.get(name), version)

    def _version(self, name: str, array: Array) -> str:
        """A new version of ``grad`` of a Variable."""
        number = 0
        if name in self._blobs:
            number = 1
        else:
            self._blobs[name] = self._fresh(f"{name}.grad")
        self._values[self._blobs[name], number] = array
        return f"{self._blobs[name]}@{number}"


def _copy(gradient: Any) -> Array:
    array = plain(gradient)
    return copied(array, device_of(array))


def _writing(change: Change) -> Writing:
    if change.gradient is None:
        return "dropped"
    if change.x.grad is None:
        return "new"
    return "added" if change.x.creator is None else "replaced"
