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

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, count, islice
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args
from weakref import finalize, ref

from ...operators.registry import Array
from ...program import RunError
from ...program.errors import repr_of
from ..function import Function
from ..variable import Variable

Scope = Literal["numpy", "leaf", "join", "detach"]
"""Where tensors come from: from arrays; from shapes; outputs that require gradients; other outputs, and buffers."""

SCOPES: tuple[Scope, ...] = get_args(Scope)


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

    def take(self, count: int) -> list[str]:
        """So many names."""
        names = []
        try:
            for _ in range(count):
                names.append(self.free.popleft())
        except IndexError:
            names += [f"{self._prefix}:{number}" for number in islice(self._numbers, count - len(names))]
        return names


class _Holder(NamedTuple):
    """A Variable that has a name, and the key of the name among those of the pool."""

    variable: ref[Variable]
    key: int


class _Pool:
    """Names in scopes, and who holds them."""

    what: ClassVar[str]
    _suffix: ClassVar[str] = ""
    _current: ClassVar[Any]

    def __init__(self) -> None:
        self._scopes: dict[str, _Scope] = {}
        self._holders: dict[str, Any] = {}

    @classmethod
    def current(cls) -> Self:
        """The pool from which backward passes take names."""
        pool: Self = cls._current
        return pool

    def _scope_of(self, name: str) -> _Scope | None:
        return self._scopes.get(name.rpartition(":")[0].removesuffix(self._suffix))

    def take_for(self, scope: str, holders: Sequence[Any]) -> list[str]:
        """A name for each of `holders`."""
        of = self._scopes.get(scope) or self._scopes.setdefault(scope, _Scope(scope + self._suffix))
        names = of.take(len(holders))
        self._holders.update(zip(names, holders, strict=True))
        return names

    def release(self, name: str) -> None:
        """Give a name back.

        Raises:
            RunError: ``undefined_blob``, the name is not in use: it was released before, or never taken.
        """
        if name not in self._holders:
            raise self._not_in_use(name)
        self.release_all([name])

    def release_all(self, names: Sequence[str]) -> None:
        """Give back those of `names`, all of one scope, that are in use still."""
        scope = self._scope_of(names[0]) if names else None
        if scope is not None:
            pop = self._holders.pop
            scope.free.extend([name for name in names if pop(name, self) is not self])

    def _not_in_use(self, name: str) -> RunError:
        scope = self._scope_of(name)
        if scope is not None and name in scope.free:
            why = "it was released: after a backward pass, with what it stood for, or by hand"
        else:
            why = "it was never given to anything"
        return RunError(
            f"No {self.what} is called {name} now: {why}.",
            kind="undefined_blob",
            blobs=[name],
            ways_out=["Hold what you need itself, not its name.", "occupancy() tells how many names are in use."],
        )

    def __contains__(self, name: object) -> bool:
        return name in self._holders

    def __len__(self) -> int:
        return len(self._holders)

    def free(self, scope: str) -> list[str]:
        """The names of `scope` that wait to be taken again, in this order."""
        names = self._scopes.get(scope)
        return list(names.free) if names is not None else []

    def occupancy(self) -> dict[str, Occupancy]:
        """Scope -> how many of its names are in use and free, for the scopes of which any was ever taken."""
        in_use = Counter(map(self._scope_of, list(self._holders)))
        return {name: Occupancy(in_use[scope], len(scope.free)) for name, scope in self._scopes.items()}

    def __repr__(self) -> str:
        scopes = ", ".join(f"{name}: {used} in use, {free} free" for name, (used, free) in self.occupancy().items())
        return f"<{type(self).__name__} {scopes or 'empty'}>"


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
    _suffix = "/tensor"

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[int, str] = {}
        self._buffers: list[str] = []

    def take(self, scope: Scope = "detach") -> str:
        """A name for a tensor that is still to come.

        Raises:
            RunError: ``bad_argument``, there is no such scope.
        """
        if scope not in SCOPES:
            raise RunError(
                f"There is no scope {repr_of(scope)} of tensors.",
                kind="bad_argument",
                ways_out=[f"Choose one of {', '.join(SCOPES)}."],
            )
        return self.take_for(scope, [None])[0]

    def name(self, x: Variable) -> str:
        """The name of x, which is taken now if x has none. It is given back when x is deleted."""
        key = id(x)
        name = self._names.get(key)
        if name is not None:
            return name
        (name,) = self.take_for(scope_of(x), [_Holder(ref(x), key)])
        self._names[key] = name
        finalize(x, self._deleted, key, name).atexit = False
        return name

    def taken_name(self, x: Variable) -> str | None:
        """The name of x if it has one."""
        return self._names.get(id(x))

    def names_of_outputs(self, variables: Iterable[Variable]) -> dict[tuple[int, int], str]:
        """The uid and place of each output among `variables` that has been asked for its name -> that name."""
        if not any(name.startswith("join/") for name in list(self._holders)):
            return {}
        outputs = [(x.creator, x.place, self.taken_name(x)) for x in variables]
        return {(creator.uid, place): name for creator, place, name in outputs if creator is not None and name}

    def _deleted(self, key: int, name: str) -> None:
        if self._names.get(key) == name:
            self.release_all([name])

    def release_all(self, names: Sequence[str]) -> None:
        if self._names:
            for name in names:
                holder = self._holders.get(name)
                if isinstance(holder, _Holder):
                    self._names.pop(holder.key, None)
        super().release_all(names)

    def __getitem__(self, name: str) -> Array:
        """The data of the tensor that is called `name` now.

        Raises:
            RunError: ``undefined_blob``, no tensor is, or a buffer that holds nothing.
        """
        holder = self._holders.get(name, self)
        array = holder.variable() if isinstance(holder, _Holder) else holder
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

    def take(self, type: str) -> str:
        """A name for an operator."""
        return self.take_for(type, [type])[0]

    def __getitem__(self, name: str) -> Any:
        """What is called `name` now.

        Raises:
            RunError: ``undefined_blob``, nothing is.
        """
        if name not in self._holders:
            raise self._not_in_use(name)
        return self._holders[name]


TensorPool._current = TensorPool()
OperatorPool._current = OperatorPool()


def register_buffers(n: int) -> list[str]:
    """Names for `n` buffers, in scope ``detach``; they are given back after the next backward pass of a tape.

    Raises:
        RunError: ``bad_argument``, `n` is no whole number, or below 0.
    """
    if type(n) is not int or n < 0:
        raise RunError(
            f"{repr_of(n)} is no number of buffers.", kind="bad_argument", ways_out=["Give a whole number, 0 or more."]
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


@contextmanager
def lent_to(functions: Sequence[Function], roots: Sequence[Variable], leaves: Iterable[Variable]) -> Iterator[None]:
    """Names for the outputs of a tape of `functions` and for its operators, for as long as it is run backward.

    An output that has a name already, since somebody has asked for it, keeps it until all are given back. Leaves keep
    theirs until they are deleted.

    Args:
        roots: where the pass starts.
        leaves: where it ends.
    """
    tensors, operators = TensorPool.current(), OperatorPool.current()
    outputs: list[str] = []
    anchors: list[list[str]] = []
    try:
        outputs += _output_names(tensors, functions, roots)
        for x in leaves:
            tensors.name(x)
        of_type: defaultdict[str, list[Function]] = defaultdict(list)
        for function in functions:
            of_type[function.label].append(function)
        anchors += [operators.take_for(label, alike) for label, alike in of_type.items()]
        yield
    finally:
        tensors.release_all(outputs)
        tensors.passed()
        for names in anchors:
            operators.release_all(names)


def _output_names(pool: TensorPool, functions: Sequence[Function], roots: Sequence[Variable]) -> list[str]:
    names = pool.names_of_outputs(chain(roots, chain.from_iterable(function.inputs for function in functions)))
    if not names:
        return pool.take_for("join", [array for function in functions for array in function.out_data])
    return [
        names.get((function.uid, place)) or pool.take_for("join", [array])[0]
        for function in functions
        for place, array in enumerate(function.out_data)
    ]
