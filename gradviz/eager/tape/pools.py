"""Name pools: the names that tensors and operators of a tape have while it is run backward.

A name is in use by one tensor, or one operator, at a time. It is taken when it is asked for: by a backward pass with
the "tape" schedule, or by `TensorPool.name`; code that needs no names takes none. It is given back

    * after the backward pass, if it belongs to an output or an operator of the tape, or to a buffer;
    * when its Variable is deleted;
    * by `release`.

What is released is the name alone. A Variable's data stays its own, and nobody writes into it; but the name does not
lead there any more: to read by it is an error, until the name is taken again. In each scope the name that was given
back first is taken first.
"""

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, ClassVar, Literal, NamedTuple, Self
from weakref import finalize, ref

from ...operators.registry import Array
from ...program import RunError
from ..variable import Variable

Scope = Literal["numpy", "leaf", "join", "detach"]
"""Where tensors come from: from arrays; from shapes; outputs that require gradients; other outputs, and buffers."""

SCOPES: tuple[Scope, ...] = ("numpy", "leaf", "join", "detach")


class Occupancy(NamedTuple):
    """How many names of a scope are in use, and how many wait to be taken again."""

    in_use: int
    free: int


class _Scope:
    """The names ``<prefix>:<number>``: those that were given back, the first one first, and then new ones.

    A deque's ends and a count are safe to use from several threads, and from finalizers, which run at any moment.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._numbers = count()
        self.free: deque[str] = deque()

    def take(self) -> str:
        try:
            return self.free.popleft()
        except IndexError:
            return f"{self._prefix}:{next(self._numbers)}"


class _Holder(ref[Variable]):
    """A Variable that has a name, and the key under which the name is known."""

    __slots__ = ("key",)

    key: int


class _Pool(ABC):
    """Names in scopes, and who holds them."""

    what: ClassVar[str]
    _current: ClassVar[Any]

    def __init__(self) -> None:
        self._scopes: dict[str, _Scope] = {}
        self._held: dict[str, Any] = {}
        self._scope_of: dict[str, _Scope] = {}

    @classmethod
    def current(cls) -> Self:
        """The pool from which backward passes take names."""
        pool: Self = cls._current
        return pool

    def _scope(self, scope: str) -> _Scope:
        known = self._scopes.get(scope)
        return known if known is not None else self._scopes.setdefault(scope, _Scope(self._prefix(scope)))

    @abstractmethod
    def _prefix(self, scope: str) -> str:
        """What the names of a scope begin with."""

    def take_for(self, scope: str, holders: Iterable[Any]) -> list[str]:
        """A name for each of `holders`."""
        of = self._scope(scope)
        names = []
        for holder in holders:
            name = of.take()
            self._held[name] = holder
            self._scope_of[name] = of
            names.append(name)
        return names

    def release(self, name: str) -> None:
        """Give a name back.

        Raises:
            RunError: ``undefined_blob``, the name is not in use: it was released before, or never taken.
        """
        if not self._give_back(name):
            raise self._not_in_use(name)

    def release_all(self, names: Iterable[str]) -> None:
        """Give back those of `names` that are in use still."""
        for name in names:
            self._give_back(name)

    def _give_back(self, name: str) -> bool:
        """Whether the name was in use; it is not any more."""
        if self._held.pop(name, self) is self:
            return False
        self._scope_of[name].free.append(name)
        return True

    def _not_in_use(self, name: object) -> RunError:
        if name in self._scope_of:
            why = "it was released: after a backward pass, with what it stood for, or by hand"
        else:
            why = "it was never given to anything"
        return RunError(
            f"No {self.what} is called {name} now: {why}.",
            kind="undefined_blob",
            blobs=[str(name)],
            ways_out=["Hold what you need itself, not its name.", "occupancy() tells how many names are in use."],
        )

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __len__(self) -> int:
        return len(self._held)

    def free(self, scope: str) -> list[str]:
        """The names of `scope` that wait to be taken again, in this order."""
        known = self._scopes.get(scope)
        return list(known.free) if known is not None else []

    def occupancy(self) -> dict[str, Occupancy]:
        """Scope -> how many of its names are in use and free, for the scopes of which any was ever taken."""
        in_use: defaultdict[_Scope, int] = defaultdict(int)
        for name in list(self._held):
            in_use[self._scope_of[name]] += 1
        return {name: Occupancy(in_use[scope], len(scope.free)) for name, scope in self._scopes.items()}

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {used} in use, {free} free" for name, (used, free) in self.occupancy().items())
        return f"<{type(self).__name__} {told or 'empty'}>"


class TensorPool(_Pool):
    """Names of tensors: ``<scope>/tensor:<number>``, see `Scope`.

    Example:
        >>> pool = TensorPool()
        >>> x = Variable([1.0, 2.0])
        >>> pool.name(x)
        'numpy/tensor:0'
        >>> pool["numpy/tensor:0"]
        array([1., 2.])
    """

    what = "tensor"

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[int, str] = {}
        self._named_outputs: set[str] = set()
        self._buffers: list[str] = []

    def _prefix(self, scope: str) -> str:
        return f"{scope}/tensor"

    def take(self, scope: Scope = "detach") -> str:
        """A name for a tensor that is still to come.

        Raises:
            RunError: ``bad_argument``, there is no such scope.
        """
        if scope not in SCOPES:
            raise RunError(
                f"There is no scope {scope!r} of tensors.",
                kind="bad_argument",
                ways_out=[f"Choose one of {', '.join(SCOPES)}."],
            )
        return self.take_for(scope, [None])[0]

    def name(self, x: Variable) -> str:
        """The name of x, which is taken now if x has none. It is given back when x is deleted."""
        key = id(x)
        known = self._names.get(key)
        if known is not None:
            return known
        holder = _Holder(x)
        holder.key = key
        scope = scope_of(x)
        (name,) = self.take_for(scope, [holder])
        self._names[key] = name
        if scope == "join":
            self._named_outputs.add(name)
        finalize(x, self._deleted, key, name).atexit = False
        return name

    def known_name(self, x: Variable) -> str | None:
        """The name of x if it has one."""
        return self._names.get(id(x))

    @property
    def has_named_outputs(self) -> bool:
        """Whether any output on a tape has been asked for its name."""
        return bool(self._named_outputs)

    def _deleted(self, key: int, name: str) -> None:
        if self._names.get(key) == name:
            self._give_back(name)

    def _give_back(self, name: str) -> bool:
        holder = self._held.get(name)
        if isinstance(holder, _Holder):
            self._names.pop(holder.key, None)
            self._named_outputs.discard(name)
        return super()._give_back(name)

    def __getitem__(self, name: str) -> Array:
        """The data of the tensor that is called `name` now.

        Raises:
            RunError: ``undefined_blob``, no tensor is, or a buffer that holds nothing.
        """
        holder = self._held.get(name, self)
        array = holder() if isinstance(holder, _Holder) else holder
        if array is self:
            raise self._not_in_use(name)
        if array is None:
            raise RunError(
                f"{name} is the name of a buffer, which holds nothing yet.", kind="undefined_blob", blobs=[name]
            )
        return array.data if isinstance(array, Variable) else array

    def buffers(self, names: Sequence[str]) -> None:
        """Give these names back after the next backward pass."""
        self._buffers += names

    def passed(self) -> None:
        """A backward pass is over: buffers are given back."""
        names, self._buffers = self._buffers, []
        self.release_all(names)


class OperatorPool(_Pool):
    """Names of operators: ``<type>:<number>``; each type is a scope.

    Example:
        >>> OperatorPool().take("Mul")
        'Mul:0'
    """

    what = "operator"

    def _prefix(self, scope: str) -> str:
        return scope

    def take(self, type: str) -> str:
        """A name for an operator."""
        return self.take_for(type, [type])[0]

    def __getitem__(self, name: str) -> Any:
        """What is called `name` now.

        Raises:
            RunError: ``undefined_blob``, nothing is.
        """
        if name not in self._held:
            raise self._not_in_use(name)
        return self._held[name]


TensorPool._current = TensorPool()
OperatorPool._current = OperatorPool()


def register_buffers(n: int) -> list[str]:
    """Names for `n` buffers, in scope ``detach``; they are given back after the next backward pass of a tape.

    Raises:
        RunError: ``bad_argument``, `n` is no whole number, or below 0.
    """
    if type(n) is not int or n < 0:
        raise RunError(
            f"{n!r} is no number of buffers.", kind="bad_argument", ways_out=["Give a whole number, 0 or more."]
        )
    pool = TensorPool.current()
    names = pool.take_for("detach", [None] * n)
    pool.buffers(names)
    return names


def scope_of(x: Variable) -> Scope:
    """The scope in which x takes its name."""
    if x.creator is not None:
        return "join"
    return "numpy" if x.rank == 0 or x.requires_grad else "detach"
