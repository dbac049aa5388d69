"""Expression: what Variables were computed from, as a program: an operator for each function, with names for its blobs.

The functions are found from the creators, without recursion, and come in the order in which they were called, which is
an order in which each follows all that it reads.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from ..operators.registry import Array
from ..program import NetDef, NetError, Operator
from ..program.operator import check_name
from .faults import cycle
from .function import Function
from .variable import Variable

Key = Any
"""What a name stands for: the number and place of an output, or a leaf and the array that was read from it."""


@lru_cache(maxsize=256)
def _base_name(label: str) -> str:
    return re.sub(r"\W", "_", label.lower())


class Expression(NamedTuple):
    """A program that computes `roots`, and the arrays and Variables of its blobs.

    Attributes:
        roots: the names of the Variables that it computes.
        operators: in the order of creation.
        functions: the function that each operator stands for; None where a Variable was given new data.
        values: every name -> its array, as it was when it was computed or read.
        leaves: the names that no operator writes -> their Variables. Numbers and arrays that functions were called
            with are among them.
        wanted: those leaves to which gradients flow.
        variables: the names that stand for a Variable -> that Variable; leaves too.
    """

    roots: tuple[str, ...]
    operators: list[Operator]
    functions: list[Function | None]
    values: dict[str, Array]
    leaves: dict[str, Variable]
    wanted: frozenset[str]
    variables: dict[str, Variable]
    names: dict[Key, str]
    recalled: "Recalled"

    def name_of(self, x: Variable) -> str | None:
        """The name of a Variable: of what was read from it first; None where it takes no part."""
        return self.names.get(self.recalled.identity(x))

    def net(self, name: str = "expression") -> NetDef:
        """The operators as a net."""
        return NetDef(name, self.operators, external_inputs=self.leaves, external_outputs=self.roots)


def recorded(roots: Iterable[Variable]) -> list[Function]:
    """The functions to which gradients flow from `roots`, in the order of creation.

    Raises:
        GradientError: ``cycle``, one of them reads what was computed after it.
    """
    functions: dict[int, Function] = {}
    waiting = [creator for root in roots if (creator := root.creator) is not None]
    while waiting:
        function = waiting.pop()
        uid = function.uid
        if uid in functions:
            continue
        functions[uid] = function
        wanted = function.wanted
        for x in function.inputs:
            creator = x._creator
            if wanted & 1 and creator is not None and creator.inputs is not None:  # not cut off
                if creator.uid >= uid:
                    raise cycle(function, "it reads what was computed after it")
                waiting.append(creator)
            wanted >>= 1
    return [functions[uid] for uid in sorted(functions)]


class Recalled(NamedTuple):
    """The inputs, arrays and names of functions at one moment: later, Variables may get other names or data, or be cut.

    Attributes:
        roots: the Variables for which the functions were recorded, with their arrays.
        functions: in the order of creation, each with what it read, and the arrays of that and of what it returned.
        creators: id of a Variable -> the function that returned it, where there is one.
        own_names: id of a Variable -> the name that somebody gave it.
        holding: the Variables that hold a gradient.
        callers_names: the number of a function -> the variable in which the caller stores its result.
    """

    roots: Sequence[tuple[Variable, Array]]
    functions: Sequence[tuple[Function, tuple[Variable, ...], tuple[Array, ...]]]
    creators: Mapping[int, Function]
    own_names: Mapping[int, str]
    holding: Sequence[Variable]
    callers_names: Mapping[int, str] = {}

    def identity(self, x: Variable) -> Key:
        """What stands for x among the keys: its creator and place, or itself."""
        creator = self.creators.get(id(x))
        return id(x) if creator is None else (creator.uid, x.place)


def recall(functions: Sequence[Function], roots: Sequence[Variable]) -> Recalled:
    """The inputs, arrays and names that `functions`, those recorded for `roots`, have now."""
    creators: dict[int, Function] = {}
    own_names: dict[int, str] = {}
    holding: list[Variable] = []
    for x in chain(roots, chain.from_iterable([function.inputs for function in functions])):
        creator = x._creator
        if creator is not None and creator.inputs is not None:
            creators[id(x)] = creator
        if x.name is not None:
            own_names[id(x)] = x.name
        if x._grad is not None:
            holding.append(x)
    calls = [(function, function.inputs, function.arrays) for function in functions]
    return Recalled([(root, root._array) for root in roots], calls, creators, own_names, holding)


def expression(roots: Sequence[Variable]) -> Expression:
    """The program that computed `roots`.

    A Variable whose creator was cut off is a leaf; so is one that an input was not to send a gradient to.

    Raises:
        GradientError: ``cycle``.
    """
    return written(recall(recorded(roots), roots))


def written(recalled: Recalled) -> Expression:
    """The program that consists of the functions that are recalled."""
    return _Writer(recalled).write()


def is_legal(name: object) -> bool:
    """Whether a blob can be called `name`."""
    try:
        check_name(name, "Variable")
    except NetError:
        return False
    return True


class _Writer:
    """Writes an expression function by function.

    A blob is called as its Variable where that has a legal name of its own that is unused, else as the caller's
    variable, or by what it is: x, c, mul, mul_1. A legal name of a Variable is given to nothing else; where others that
    get no gradient have it too, as what was detached from it has, it is that of the one that gets one.
    """

    def __init__(self, recalled: Recalled) -> None:
        self._recalled = recalled
        self._identity = recalled.identity
        self._own_names = {key: name for key, name in recalled.own_names.items() if is_legal(name)}
        self._reserved = set(self._own_names.values())
        has_shared = len(self._reserved) < len(self._own_names)
        self._names_of_wanted = set(self._wanted_names()) if has_shared else set()
        self._used: set[str] = set()
        self._numbers: defaultdict[str, int] = defaultdict(int)
        self._names: dict[Key, str] = {}
        self._wanted: set[str] = set()
        self._expression = Expression((), [], [], {}, {}, frozenset(), {}, {}, recalled)
        self._stand_for: dict[Key, Variable] = {}

    def write(self) -> Expression:
        roots, functions = self._recalled.roots, self._recalled.functions
        for x in chain([root for root, _ in roots], *[read for _, read, _ in functions]):
            self._stand_for.setdefault(self._identity(x), x)
        for function, read, arrays in functions:
            self._append(function, read, arrays)
        names = tuple([self._base(root, array) for root, array in roots])
        return self._expression._replace(roots=names, wanted=frozenset(self._wanted))

    def _wanted_names(self) -> Iterator[str]:
        """The names of the Variables to which functions send gradients."""
        for function, read, _ in self._recalled.functions:
            for at, x in enumerate(read):
                if function.wanted >> at & 1 and (name := self._own_names.get(id(x))) is not None:
                    yield name

    def _append(self, function: Function, read: Sequence[Variable], arrays: tuple[Array, ...]) -> None:
        inputs = [
            self._read(x, array) if function.wanted >> at & 1 else self._constant(x, array)
            for at, (x, array) in enumerate(zip(read, arrays, strict=False))
        ]
        outputs = []
        for place, array in enumerate(arrays[len(read) :]):
            key = (function.uid, place)
            x = self._stand_for.get(key)
            # An output that nobody got has no name in the user's code.
            base = None if x is None else self._recalled.callers_names.get(function.uid)
            name = self._name(x, base or _base_name(function.label))
            self._hold(key, name, array, x)
            outputs.append(name)
        self._expression.operators.append(function.as_operator(arrays, inputs, outputs))
        self._expression.functions.append(function)

    def _read(self, x: Variable, array: Array) -> str:
        """The name under which a function reads `array` from x, to which it sends a gradient."""
        base = self._base(x, array)
        if self._expression.values[base] is array:
            return base
        key = (base, id(array))
        if key not in self._names:
            data = self._constant(x, array)
            name = self._name(x, "x")
            self._hold(key, name, array, None)
            self._expression.operators.append(Operator("NewData", [base, data], [name]))
            self._expression.functions.append(None)
        return self._names[key]

    def _base(self, x: Variable, array: Array) -> str:
        """The name of x itself, of which `array` was read; a leaf is what was read from it first."""
        key = self._identity(x)
        if key not in self._names:
            name = self._name(x, "x")
            self._hold(key, name, array, x)
            self._expression.leaves[name] = x
            self._wanted.add(name)
        return self._names[key]

    def _constant(self, x: Variable, array: Array) -> str:
        """The name of an array that was read from x without sending it a gradient."""
        key = ("constant", id(x), id(array))
        if key not in self._names:
            is_taken = self._own_names.get(id(x)) in self._names_of_wanted
            name = self._name(None if is_taken else x, "c")
            self._hold(key, name, array, x)
            self._expression.leaves[name] = x
        return self._names[key]

    def _name(self, x: Variable | None, base: str) -> str:
        """A name for a blob: that of x, which stands for it, where x has one of its own, else `base`, numbered."""
        name = None if x is None else self._own_names.get(id(x))
        if name is None or name in self._used:
            name = base
            while name in self._used or name in self._reserved:
                self._numbers[base] += 1
                name = f"{base}_{self._numbers[base]}"
        self._used.add(name)
        return name

    def _hold(self, key: Key, name: str, array: Array, x: Variable | None) -> None:
        self._names[key] = name
        self._expression.values[name] = array
        if x is not None:
            self._expression.variables[name] = x
            identity, names = self._identity(x), self._expression.names
            if identity == key or identity not in names:
                names[identity] = name
