"""The pass of the "tape" schedule: functions go backward in the reverse order of their creation.

The functions are a program, in which each array that was read or returned is a blob. From the last to the first

    the rule of f turns g(outputs of f) into one contribution to g(b) for each input b that wants one
    g(b) is the sum of its contributions, formed at once when the first reader of b has been visited

That is what the IR generates of the operators that stand for the functions, run without making names and events. A
contribution that the IR counts on may lack after all, where the backward method of a function returns None: then it is
`ABSENT`, takes no part in sums, and counts as zeros beside other gradients of its function.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import msgspec

from ...operators.registry import Array
from ...program import Operator
from ...runtime.devices import device_of, guarded
from ...runtime.watched import uncollected
from .. import gradients
from ..call import Call, OperatorFunction
from ..expression import recorded
from ..faults import cannot_add
from ..function import Function, current_mode
from ..gradients import ABSENT, Rows, zeros_like
from ..plan import Plan, Step, as_outputs, kernel_of, run_steps
from ..rank import ADD, Arrived, Pass
from ..variable import Variable, plain
from .flow import Sharing, take_turns
from .pools import lent_to

SUM = Operator("Sum", ["x", "xs"], ["y"])
JOIN = Operator("Concat", ["xs"], ["y"], {"axis": 0})
TO_DENSE = Operator("SparseToDense", ["indices", "values", "x"], ["y"])
"""What adds up gradients: arrays, the halves of rows, and rows beside arrays."""

CALLS = {op.type: Call.of(op) for op in (SUM, JOIN, TO_DENSE)}


ABSENT_ROWS = Rows(ABSENT, ABSENT)


class Terms(list[Any]):
    """Gradients of one blob in the order of their arrival, not added up yet."""


class Blob(msgspec.Struct, eq=False, gc=False):
    """An array that functions have read or returned.

    Attributes:
        first: the first function that has read it and wants a gradient for it.
        gradient: what has arrived, `Terms` where that is several.
    """

    array: Array | None
    first: "Function | NewData | None" = None
    gradient: Any = None

    def receive(self, gradient: Any) -> None:
        """One more gradient has arrived."""
        earlier = self.gradient
        if earlier is None:
            self.gradient = gradient
        elif type(earlier) is Terms:
            earlier.append(gradient)
        else:
            self.gradient = Terms((earlier, gradient))


UNWANTED = Blob(None)
"""What a function has read without wanting a gradient for it."""


class NewData:
    """What hands the gradient of new data on to the Variable as it was before."""


class Program:
    """Functions in the order of their creation, each with the blobs that it reads and writes.

    A Variable that was given new data between two functions has a blob for each.

    Attributes:
        visits: each function, with what it reads and what it writes.
        written: uid of a function -> the blobs of its outputs.
        leaves: leaf -> the blob that was read from it first.
        holding: the Variables on the way that hold a gradient, or shall, each with its blob.

    Args:
        keeps_all: whether all Variables shall hold theirs.
    """

    def __init__(self, functions: Iterable[Function], keeps_all: bool) -> None:
        self.visits: list[tuple[Function | NewData, list[Blob], list[Blob]]] = []
        self.written: dict[int, list[Blob]] = {}
        self.leaves: dict[Variable, Blob] = {}
        self.holding: list[tuple[Variable, Blob]] = []
        self._renewed: dict[tuple[Blob, int], Blob] = {}
        visits, written, leaves = self.visits, self.written, self.leaves
        for function in functions:
            arrays, wanted = function.arrays, function.wanted
            reads: list[Blob] = []
            for x, array in zip(function.inputs, arrays, strict=False):
                if wanted & 1:
                    creator = x._creator
                    if creator is None or creator.inputs is None:  # a leaf, or cut off
                        blob = leaves.get(x) or leaves.setdefault(x, Blob(array))
                    else:
                        blob = written[creator.uid][x.place]
                        if keeps_all or x._grad is not None:
                            self.holding.append((x, blob))
                    if blob.array is not array:
                        blob = self._with_new_data(blob, array)
                    if blob.first is None:
                        blob.first = function
                    reads.append(blob)
                else:
                    reads.append(UNWANTED)
                wanted >>= 1
            written[function.uid] = writes = list(map(Blob, arrays[len(reads) :]))
            visits.append((function, reads, writes))

    def _with_new_data(self, blob: Blob, array: Array) -> Blob:
        renewed = self._renewed.get((blob, id(array)))
        if renewed is None:
            renewed = self._renewed[blob, id(array)] = Blob(array)
            hand_on = NewData()
            blob.first = blob.first or hand_on
            self.visits.append((hand_on, [blob], [renewed]))
        return renewed


class TapePass(Pass):
    """One pass backward from `seeds`, outputs of which none is there twice.

    Attributes:
        leaves: leaf -> its blob.

    Args:
        functions: those recorded for the seeds.
        create_graph, keep: as for `Pass`.
    """

    def __init__(
        self,
        functions: Sequence[Function],
        seeds: Sequence[tuple[Variable, Any]],
        *,
        create_graph: bool,
        keep: Container[int] | None = (),
    ) -> None:
        super().__init__((), create_graph=create_graph, keep=keep)
        self._is_plain = keep == () and not (self.is_watched or create_graph or current_mode().hooks)
        with uncollected():
            program = Program(functions, keep is None)
        self._visits, self.leaves, self._holding = program.visits, program.leaves, program.holding
        for y, gradient in seeds:
            program.written[y._creator.uid][y.place].receive(gradient)  # type: ignore[union-attr]

    def run(self) -> Arrived:
        """Run every function that gradients reach backward."""
        visits, visit = self._visits, self._visit
        while visits:
            function, reads, writes = visits.pop()
            gys = [writes[0].gradient] if len(writes) == 1 else [blob.gradient for blob in writes]
            for gy in gys:
                if gy is not None:
                    visit(function, reads, gys)
                    break
            for blob in reads:
                if blob.first is function and type(blob.gradient) is Terms:
                    blob.gradient = self._total(blob.gradient, blob.array)
        for x, blob in self.leaves.items():
            if not (blob.gradient is None or _is_absent(blob.gradient)):
                self._arrived.leaves[x] = blob.gradient
        self._arrived.met.extend(x for x, blob in self._holding if blob.gradient is not None)
        return self._arrived

    def _visit(self, function: Function | NewData, reads: Sequence[Blob], gys: list[Any]) -> None:
        plan = None
        if self._is_plain and type(function) is OperatorFunction:
            key = (function.wanted, type(gys[0])) if len(gys) == 1 else (function.wanted, *map(type, gys))
            plan = function.signature.tape_plans.get(key)
        elif isinstance(function, NewData):
            reads[0].receive(gys[0])
            return
        if plan is None:
            arrivals, gxs = self._contributions(function, gys)
        else:
            arrivals = plan.arrivals
            try:
                gxs = plan.run(function.arrays, gys)
            except Exception as error:
                raise function.explained(error) from error
        for at in arrivals:
            blob = reads[at]
            if blob.gradient is None:
                blob.gradient = gxs[at]
            else:
                blob.receive(gxs[at])

    def _contributions(self, function: Function, gys: list[Any]) -> tuple[Sequence[int], Sequence[Any]]:
        """The inputs that get a gradient, in the order of arrival, and what each input gets."""
        plan = self._plan(function, gys)
        arguments = gys
        if plan is None and Rows in map(type, gys):
            pairs = zip(gys, function.out_data, strict=True)
            arguments = [self._combined(TO_DENSE, (*gy, y)) if type(gy) is Rows else gy for gy, y in pairs]
            plan = self._plan(function, arguments)
        places = range(len(function.inputs))
        arrivals = [at for at in places if function.wanted >> at & 1] if plan is None else plan.arrivals
        if any(map(_is_absent, arguments)):
            if all(gy is None or _is_absent(gy) for gy in arguments):
                is_rows = [plan is not None and len(plan.answers[at]) == 2 for at in places]
                return arrivals, [ABSENT_ROWS if is_rows[at] and not self._create_graph else ABSENT for at in places]
            arguments = [
                gy if not _is_absent(gy) else None if plan is None else self._zeros(function, at)
                for at, gy in enumerate(arguments)
            ]
        if self._keep is None or id(function) in self._keep:
            self._arrived.output_gradients[id(function)] = [None if _is_absent(gy) else gy for gy in gys]
        gxs = self._watched(function, arguments, function.wanted)
        return arrivals, [ABSENT if gx is None else gx for gx in gxs]

    def _plan(self, function: Function, gys: Sequence[Any]) -> Plan | None:
        """How a function of the table is run backward; None for others, and where a rule does not take rows."""
        if type(function) is not OperatorFunction:
            return None
        try:
            return function.plan(gys, function.wanted) if self._create_graph else function.tape_plan(gys)
        except Exception as error:
            raise function.explained(error) from error

    def _input_gradients(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        plan = None if self._create_graph else self._plan(function, gys)
        if plan is None:
            return super()._input_gradients(function, gys, wanted)
        try:
            parts = [part for gy in gys for part in (gy if type(gy) is Rows else (gy,))]
            return plan.run(function.arrays, parts, self._run_steps)
        except Exception as error:
            raise function.explained(error) from error

    def _run_steps(self, steps: Sequence[Step], values: list[Any]) -> None:
        run_steps(steps, values)

    def _zeros(self, function: Function, place: int) -> Any:
        zeros = zeros_like(function.out_data[place])
        return Variable(guarded(zeros), requires_grad=False) if self._create_graph else zeros

    def _total(self, terms: Terms, like: Array) -> Any:
        """The sum of the gradients of an array like `like`: one array, or rows where all are rows."""
        dense = [term for term in terms if type(term) is not Rows]
        rows = [term for term in terms if type(term) is Rows]
        if not dense:
            return Rows(*[self._combined(JOIN, halves) for halves in zip(*rows, strict=True)])
        return self._combined(SUM, [*dense, *[self._combined(TO_DENSE, (*term, like)) for term in rows]])

    def _combined(self, op: Operator, arrays: Sequence[Any]) -> Any:
        """What an operator that adds up gradients makes of those that are there."""
        there = [array for array in arrays if array is not ABSENT]
        if len(there) < len(arrays) and (op is TO_DENSE or not there):
            return ABSENT
        try:
            if self._create_graph:
                return CALLS[op.type](*there)
            return as_outputs(kernel_of(op, device_of(there[0]))(op, *there), 1)[0]
        except Exception as error:
            raise cannot_add(error) from error


def _is_absent(gradient: Any) -> bool:
    return gradient is ABSENT or (type(gradient) is Rows and gradient.values is ABSENT)


def run_by_tape(
    seeds: Sequence[tuple[Variable, Any]],
    *,
    create_graph: bool,
    keep: Container[int] | None = (),
    tell_sharing: Callable[[Sharing], None] | None = None,
) -> Arrived:
    """One pass backward from `seeds`: Variables and their gradients.

    Args:
        create_graph: whether gradients are Variables.
        keep: ids of the functions whose outputs keep their gradients; None: all of them.
        tell_sharing: is told what gradients save that take turns in shared buffers; None: nobody asks.
    """
    add = ADD if create_graph else gradients.add
    starts: dict[tuple[int, int], tuple[Variable, Any]] = {}
    leaves: dict[Variable, Any] = {}
    for y, gradient in seeds:
        if y.creator is None:
            leaves[y] = gradient
        else:
            first, earlier = starts.get(key := (y.creator.uid, y.place), (y, None))
            starts[key] = first, gradient if earlier is None else add(earlier, gradient)
    roots = [y for y, _ in starts.values()]
    functions = recorded(roots)
    pass_type = TapePass if tell_sharing is None else SharingPass
    tape = pass_type(functions, list(starts.values()), create_graph=create_graph, keep=keep)
    with lent_to(functions, roots, tape.leaves):
        arrived = tape.run()
    for x, gradient in arrived.leaves.items():
        leaves[x] = add(leaves[x], gradient) if x in leaves else gradient
    if tell_sharing is not None and isinstance(tape, SharingPass):
        tell_sharing(tape.sharing(arrived))
    return arrived._replace(leaves=leaves)


class SharingPass(TapePass):
    """A pass that finds out what gradients save that take turns in shared buffers."""

    is_watched = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._turns: list[tuple[list[int], list[int]]] = []
        self._sizes: list[int] = []
        self._number_of: dict[int, int] = {}
        self._inside: list[Array] = []

    def _input_gradients(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        gxs = super()._input_gradients(function, gys, wanted)
        inside, self._inside = self._inside, []
        self._turn(gys, [*inside, *gxs])
        return gxs

    def _run_steps(self, steps: Sequence[Step], values: list[Any]) -> None:
        given = len(values)
        run_steps(steps, values)
        self._inside = values[given:]

    def _combined(self, op: Any, arrays: Sequence[Any]) -> Any:
        result = super()._combined(op, arrays)
        self._turn(arrays, [result])
        return result

    def _turn(self, reads: Sequence[Any], writes: Sequence[Any]) -> None:
        """Something has read gradients and written others, unless these are among those that it has read."""
        numbers_read = self._numbers(reads)
        ids = {id(part) for part in _parts(reads)}
        new = {id(part): part for part in _parts(writes) if id(part) not in ids}
        for key, part in new.items():
            self._number_of[key] = len(self._sizes)
            self._sizes.append(plain(part).nbytes)
        self._turns.append((numbers_read, [self._number_of[key] for key in new]))

    def _numbers(self, values: Sequence[Any]) -> list[int]:
        return [self._number_of[id(part)] for part in _parts(values) if id(part) in self._number_of]

    def sharing(self, arrived: Arrived) -> Sharing:
        """What is saved where the gradients that have arrived have places of their own."""
        apart = [*arrived.leaves.values(), *[gy for gys in arrived.output_gradients.values() for gy in gys]]
        return take_turns(self._turns, self._numbers(apart), self._sizes.__getitem__)[1]


def _parts(values: Sequence[Any]) -> list[Any]:
    """The arrays of which gradients consist, as far as they are there."""
    parts = [part for value in values for part in (value if type(value) is Rows else (value,))]
    return [part for part in parts if part is not None and part is not ABSENT]
