"""The "rank" schedule: functions are run backward one by one, those of the greatest rank first.

    rank(leaf) = 0,   rank(f) = the greatest rank among its inputs,   rank(output of f) = rank(f) + 1

A function waits in a heap from the moment a gradient reaches one of its outputs, ordered by (-rank, arrival). All that
read its outputs have a greater rank, so when its turn comes the gradients of its outputs are whole, and it runs once:

    g(x) = Σ over the functions f that read x of what f's rule makes of g(outputs of f)

An output that nobody read, or that nobody holds any more, has no gradient: None. An input whose gradient is None is
not followed. The loop keeps its own heap, so a chain may be of any length.
"""

from collections.abc import Container, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from ..operators.registry import Array
from . import gradients
from .call import Call
from .faults import cycle
from .function import Function, current_mode
from .gradients import Rows
from .variable import Variable, plain

DONE: list[Any] = []
ADD = Call("add", "Add")


class Arrived(NamedTuple):
    """What a pass has brought, arrays, rows or Variables.

    Attributes:
        leaves: leaf -> its gradient.
        output_gradients: id of a function -> the gradients of its outputs, for the functions that were asked for.
        met: the Variables on the way that keep their gradient, or hold one of another pass.
    """

    leaves: dict[Variable, Any]
    output_gradients: dict[int, list[Any]]
    met: list[Variable]


class Pass:
    """One pass backward from `seeds`.

    Attributes:
        is_watched: whether `_watched` is told of every function, also where no hook is in force.

    Args:
        seeds: Variables and their gradients.
        create_graph: whether gradients are Variables.
        keep: ids of the functions whose outputs keep their gradients; None: all of them.
        follow: id of a function -> the inputs to follow, as in `Function.wanted`; None: all that want a gradient.
    """

    is_watched = False

    def __init__(
        self,
        seeds: Sequence[tuple[Variable, Any]],
        *,
        create_graph: bool,
        keep: Container[int] | None = (),
        follow: Mapping[int, int] | None = None,
    ) -> None:
        self._heap: list[tuple[int, int, Function]] = []
        self._reached: dict[int, list[Any]] = {}
        self._arrived = Arrived({}, {}, [])
        self._create_graph = create_graph
        self._keep = keep
        self._follow = follow
        for y, gradient in seeds:
            self._receive(y, gradient)

    def run(self) -> Arrived:
        """Run every function that gradients reach backward."""
        heap, reached, receive, follow = self._heap, self._reached, self._receive, self._follow
        keep = self._keep
        is_plain = not (self._create_graph or self.is_watched or current_mode().hooks)
        while heap:
            function = heappop(heap)[2]
            name = id(function)
            gys = reached[name]
            reached[name] = DONE
            if keep is None or name in keep:
                self._arrived.output_gradients[name] = gys
            wanted = function.wanted if follow is None else follow[name]
            if not wanted:
                continue
            for gy in gys:
                if type(gy) is Rows:
                    gys = dense_all(gys, function.out_data)
                    break
            gxs = function.input_gradients(gys, wanted) if is_plain else self._watched(function, gys, wanted)
            inputs = function.inputs
            for at, gx in enumerate(gxs):
                if gx is not None:
                    receive(inputs[at], gx)
        return self._arrived

    def _watched(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        """Run a function backward, on arrays or Variables, under the eyes of the hooks in force."""
        hooks, in_data = current_mode().hooks, function.in_data
        if not hooks:
            return self._input_gradients(function, gys, wanted)
        out_grad = shown(gys, function.out_data)
        for hook in hooks:
            hook.backward_preprocess(function, in_data, out_grad)
        gxs = self._input_gradients(function, gys, wanted)
        in_grad = shown(gxs, in_data)
        for hook in hooks:
            hook.backward_result(function, in_data, in_grad)
        for hook in hooks:
            hook.backward_postprocess(function, in_data, out_grad)
        return gxs

    def _input_gradients(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        run = function.input_gradient_variables if self._create_graph else function.input_gradients
        return run(gys, wanted)

    def _sum(self, one: Any, other: Any) -> Any:
        """The sum of two gradients of one array."""
        return ADD(one, other) if self._create_graph else gradients.add(one, other)

    def _receive(self, x: Variable, gradient: Any) -> None:
        function = x._creator
        if function is None or function.inputs is None:  # a leaf, or cut off
            leaves = self._arrived.leaves
            leaves[x] = self._sum(leaves[x], gradient) if x in leaves else gradient
            return
        if self._keep is None or x._grad is not None:
            self._arrived.met.append(x)
        gys = self._reached.get(id(function))
        if gys is None:
            gys = self._reached[id(function)] = [None] * function.count
            heappush(self._heap, (-function.rank, len(self._reached), function))
        elif gys is DONE:
            raise cycle(function)
        old = gys[x.place]
        gys[x.place] = gradient if old is None else self._sum(old, gradient)


def dense_all(given: Sequence[Any], like: Sequence[Array]) -> list[Any]:
    """Gradients of the arrays `like`, none of them sparse."""
    return [None if g is None else gradients.dense(g, x.shape) for g, x in zip(given, like, strict=False)]


def shown(given: Sequence[Any], like: Sequence[Array]) -> tuple[Array | None, ...]:
    """Gradients of the arrays `like` for hooks to look at: read-only arrays."""
    return tuple([None if g is None else gradients.read_only(plain(g)) for g in dense_all(given, like)])


def run_by_rank(seeds: Sequence[tuple[Variable, Any]], **options: Any) -> Arrived:
    """One pass backward from `seeds`, see `Pass`."""
    return Pass(seeds, **options).run()
