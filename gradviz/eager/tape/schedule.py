"""The "tape" schedule: the recorded functions become a program, the IR differentiates it, and its operators are run.

    functions in the order of creation -> forward operators -> the gradient flow -> run on the values that are there

The forward operators are not run again: what functions read and returned is what the flow reads. All gradients of a
Variable are kept until the last has come, and are then added up. What the flow needs no more is let go on the way.
The plan of a flow is kept for the next tape of the same structure, so a training loop plans once.
"""

from collections.abc import Callable, Container, Sequence
from typing import Any

from ...operators.registry import gradient_name
from ...program import GradientError
from ...program.collection import uncollected
from .. import gradients
from ..expression import recall, recorded, written
from ..function import Function
from ..rank import ADD, Arrived
from ..variable import Variable
from .cache import PLANS, structure_of
from .flow import gradient_flow
from .names import Lent, lent_to
from .plan import TapePlan, plan_tape
from .run import TapeRun
from .sharing import Buffers, Sharing


def run_by_tape(
    seeds: Sequence[tuple[Variable, Any]],
    *,
    create_graph: bool,
    retain: bool = False,
    keep: Container[int] = (),
    tell_sharing: Callable[[Sharing], None] | None = None,
) -> Arrived:
    """One pass backward from `seeds`: Variables and their gradients.

    Args:
        create_graph: whether gradients are Variables.
        retain: whether to keep the gradients of all outputs.
        keep: ids of functions whose outputs keep their gradients in any case.
        tell_sharing: is told what gradients save that take turns in shared buffers; None: nobody asks.
    """
    starts = _starts(seeds, ADD if create_graph else gradients.add)
    roots = [y for y, _ in starts]
    functions = recorded(roots)
    arrived = Arrived({y: gradient for y, gradient in seeds if y.creator is None}, {}, [])
    buffers = None if tell_sharing is None else Buffers()
    if functions:
        kept = {function.uid for function in functions if retain or id(function) in keep}
        with lent_to(functions, roots) as names:
            plan, on_tape = _planned(functions, roots, kept, names)
            run = TapeRun(plan, on_tape, [gradient for _, gradient in starts], create_graph, buffers)
            run.run()
        arrived = run.arrived(arrived, kept, retain)
    if tell_sharing is not None and buffers is not None:
        tell_sharing(buffers.sharing())
    return arrived


def _starts(seeds: Sequence[tuple[Variable, Any]], add: Callable[[Any, Any], Any]) -> list[tuple[Variable, Any]]:
    """The seeds of outputs, those of one output added up."""
    starts: dict[tuple[int, int], tuple[Variable, Any]] = {}
    for y, gradient in seeds:
        if y.creator is not None:
            known = starts.setdefault(key := (y.creator.uid, y.place), (y, gradient))
            if known[0] is not y:
                starts[key] = known[0], add(known[1], gradient)
    return list(starts.values())


def _planned(
    functions: list[Function], roots: list[Variable], kept: set[int], names: Lent
) -> tuple[TapePlan, Sequence[Function | None]]:
    """The plan of a tape, and its functions; None among them where a Variable was given new data."""
    places = frozenset(place for place, function in enumerate(functions) if function.uid in kept)
    structure = structure_of(functions, roots, places)
    known = None if structure is None else PLANS.get(structure)
    if known is not None:
        return known, functions
    with uncollected():
        plan, on_tape = _plan(functions, roots, kept, names)
    if structure is not None:
        PLANS.put(structure, plan, len(functions))
    return plan, on_tape


def _plan(
    functions: list[Function], roots: list[Variable], kept: set[int], names: Lent
) -> tuple[TapePlan, Sequence[Function | None]]:
    """The plan of a tape that was not met before, and its functions."""
    expression = written(recall(functions, roots), names)
    seeds = {root: gradient_name(root) for root in expression.roots}
    try:
        flow = gradient_flow(expression.operators, seeds)
    except GradientError as error:
        index = error.operator_index
        function = None if index is None else expression.functions[index]
        if function is None or index is None:
            raise
        raise function.explained(error, expression.operators[index], index) from error
    plan = plan_tape(expression, flow, list(seeds.values()), lambda function: function.uid in kept)
    return plan, expression.functions
