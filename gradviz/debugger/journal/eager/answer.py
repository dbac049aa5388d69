"""What the rule of a function answered, under the names of blobs: the operators, and the gradient of each input."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....eager.gradients import Rows
from ....eager.plan import Answer, Plan
from ....operators.registry import Array
from ....program import Gradient, GradientSlice, Operator
from .names import RankNames


class Named(NamedTuple):
    """The answer for one function.

    Attributes:
        operators: what was run, in order.
        g_input: the gradient of each input, None where there is none.
        makers: for each input the place among the operators of what wrote its gradient, None where it passed through.
    """

    operators: list[Operator]
    g_input: list[Gradient | None]
    makers: list[int | None]


def named_answer(op: Operator, g_output: Sequence[str | None], plan: Plan, names: RankNames) -> Named:
    """The steps of `plan`, by which `op` is run backward, with names for what they make.

    A plan numbers its values: inputs, outputs, gradients of the outputs, then what each step makes.
    """
    blobs: list[Any] = [*op.inputs, *op.outputs, *g_output]
    given = len(blobs)
    wanted = _names_wanted(op, plan.answers, given, names)
    made: list[Operator] = []
    writer: dict[int, int] = {}
    for place, step in enumerate(plan.steps):
        writes: list[str] = []
        for name in step.op.outputs[: step.outputs]:
            number = len(blobs) + len(writes)
            writer[number] = place
            writes.append(wanted.get(number) or names.fresh(f"_{op.outputs[0]}{'' if name[0] == '_' else '_'}{name}"))
        known = step.op
        made.append(
            Operator(known.type, list(step.pick(blobs)), writes, known.args, known.device, "", known.is_gradient)
        )
        blobs += writes
    g_input: list[Gradient | None] = []
    makers: list[int | None] = []
    for answer in plan.answers:
        if answer is None:
            g_input.append(None)
            makers.append(None)
        elif isinstance(answer, int):
            g_input.append(blobs[answer])
            makers.append(writer.get(answer))
        else:
            g_input.append(GradientSlice(blobs[answer[0]], blobs[answer[1]]))
            makers.append(writer.get(answer[1]))
    return Named(made, g_input, makers)


def _names_wanted(op: Operator, answers: Sequence[Answer], given: int, names: RankNames) -> dict[int, str]:
    """The names of the values that are the gradients of inputs, as far as steps make them."""
    wanted: dict[int, str] = {}
    for blob, answer in zip(op.inputs, answers, strict=True):
        if isinstance(answer, int):
            if answer >= given and answer not in wanted:
                wanted[answer] = names.written(blob)
        elif answer is not None:
            indices, values = answer
            if indices >= given and values >= given:
                made = names.written_slice(blob)
                wanted[indices], wanted[values] = made.indices, made.values
            elif values >= given:
                wanted[values] = names.written_slice(blob).values
    return wanted


class Converted(NamedTuple):
    """An operator that the engine added behind those of a rule, and what it made."""

    op: Operator
    outputs: tuple[Array, ...]


def conversions(
    named: Named, plan: Plan, values: Sequence[Any], gxs: Sequence[Any], names: RankNames
) -> list[Converted]:
    """What was done to the answers of a plan before they were handed on; `named` then has the names of the results.

    A gradient is cast to the dtype of its input, and the rows of a sparse one lie along one axis.

    Args:
        values: those that the plan numbers.
        gxs: what was handed on.
    """
    made: list[Converted] = []
    for at, (answer, gx) in enumerate(zip(plan.answers, gxs, strict=True)):
        gradient = named.g_input[at]
        if isinstance(answer, int):
            if gx is values[answer]:
                continue
            name = names.fresh(f"{gradient}_cast")
            op = Operator("Cast", [str(gradient)], [name], {"to": str(gx.dtype)}, is_gradient=True)
            made.append(Converted(op, (gx,)))
            named.g_input[at] = name
        elif answer is not None and isinstance(gradient, GradientSlice) and gx.indices is not values[answer[0]]:
            made += _flattened(gradient, gx, values[answer[1]], names)
            named.g_input[at] = GradientSlice(made[-2].op.outputs[0], made[-1].op.outputs[0])
        else:
            continue
        named.makers[at] = len(named.operators) + len(made) - 1
    return made


def _flattened(gradient: GradientSlice, rows: Rows, before: Array, names: RankNames) -> list[Converted]:
    indices, values = (names.fresh(f"{name}_rows") for name in (gradient.indices, gradient.values))
    shape = [-1, *rows.values.shape[1:]]
    old = names.fresh(f"{values}_shape")
    return [
        Converted(Operator("FlattenToVec", [gradient.indices], [indices], is_gradient=True), (rows.indices,)),
        Converted(
            Operator("Reshape", [gradient.values], [values, old], {"shape": shape}, is_gradient=True),
            (rows.values, np.array(before.shape)),
        ),
    ]
