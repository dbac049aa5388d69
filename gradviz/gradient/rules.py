"""Asking an operator's gradient rule, checking what it answers, and reading from that who makes which gradient."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..operators import OperatorType, lookup, similar
from ..operators.registry import Slots
from ..program import Gradient, GradientError, GradientSlice, GradvizError, NetError, Operator
from ..program.control_flow import NETS, renamed, scopes_of
from ..program.crossing import output_device
from ..program.errors import raised, repr_of
from ..program.events import Source
from ..program.operator import Ssa, V, check_name, parts_of
from .accumulation import Generator, GradientNames, Step, Steps

if TYPE_CHECKING:
    from .nesting import Nesting


class BlobRef(str):
    """A blob name that remembers which of an operator's blobs it stands for.

    In ``t = Mul(t, w)`` the name alone does not tell whether a rule that reads ``t`` means the input, which is
    overwritten, or the output. Rules of such operators are given these in place of plain names.
    """

    __slots__ = ("source",)
    source: Source


def _refs(names: Sequence[str], source: Source) -> list[str]:
    refs = list(map(BlobRef, names))
    for ref in refs:
        ref.source = source
    return [*refs]


def plain(op: Operator) -> Operator:
    """The operator with plain names in place of `BlobRef`."""
    return msgspec.structs.replace(op, inputs=list(map(str, op.inputs)), outputs=list(map(str, op.outputs)))


def with_names(gradient: Gradient | None, name_of: Callable[[str], str]) -> Gradient | None:
    """The gradient with what `name_of` makes of its names: `str` makes plain ones of `BlobRef`."""
    if isinstance(gradient, GradientSlice):
        return GradientSlice(name_of(gradient.indices), name_of(gradient.values))
    return None if gradient is None else name_of(gradient)


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What a rule gave: its operators, the gradient of each input, and where the rule is written (file:line).

    `marked`: names in it may be `BlobRef`.
    """

    operators: list[Operator]
    g_input: list[Gradient | None]
    source: str
    marked: bool = False


def ask_rule(op: Operator, index: int, g_output: Sequence[Gradient | None], nesting: "Nesting | None" = None) -> Answer:
    """Call the rule of `op`, forward operator `index`, with the gradients of its outputs.

    Args:
        nesting: for an operator that runs nested nets.

    Raises:
        GradientError: ``no_gradient_rule``, or ``rule_failed`` when it raises or its answer is malformed.
    """
    operator_type = lookup(op.type)
    if operator_type is None or (operator_type.rule is None and not operator_type.constant):
        raise GradientError(
            f"There is no gradient rule for {describe(op, index)}, and the gradient of its output is wanted.",
            kind="no_gradient_rule",
            operator_index=index,
            blobs=op.outputs,
            ways_out=[
                *(similar(op.type) if operator_type is None else []),
                f'Write its rule with @gradviz.register_gradient("{op.type}").',
                f"Put StopGradient behind {', '.join(op.outputs)} if no gradient should pass here.",
            ],
        )
    if operator_type.rule is None:
        return Answer([], [None] * len(op.inputs), "constant for the gradient")
    if nesting is not None:
        rule: Any = operator_type.rule  # takes the nesting too
        operators, g_input = rule(op, list(g_output), nesting)
        return Answer(operators, g_input, operator_type.rule_source)
    marked = _is_ambiguous(op, g_output)
    asked, gradients = _with_refs(op, g_output) if marked else (op, list(g_output))
    try:
        answer = operator_type.rule(asked, gradients)
    except GradvizError as error:
        raise _refused(error, op, index, operator_type) from error
    except Exception as error:
        if operator_type.inputs is not None and not operator_type.inputs.admit(len(op.inputs)):
            raise _wrong_arity(op, index, operator_type.inputs) from error
        raise _failed(op, index, operator_type, f"raised {raised(error)}") from error
    return _checked(answer, op, index, operator_type, marked)


def takes_slices(op: Operator, index: int, g_output: Sequence[Gradient | None]) -> bool:
    """Whether the rule of `op` takes the sparse ones of `g_output` as they are: as two blobs each."""
    try:
        answer = ask_rule(op, index, g_output)
    except GradientError as error:
        if error.kind == "rule_failed":
            return False
        raise
    return not any(isinstance(name, GradientSlice) for grad_op in answer.operators for name in grad_op.inputs)


def describe(op: Operator, index: int) -> str:
    """``operator #3 y = Relu(x)``."""
    return f"operator #{index} {op}"


def _is_ambiguous(op: Operator, g_output: Sequence[Gradient | None]) -> bool:
    """Whether one name stands for two blobs: an input and an output, or one that is there and a gradient to come."""
    inputs, outputs = op.inputs, op.outputs
    for name in inputs:
        if name in outputs or (name[-5:] == "_grad" and name[:-5] in inputs):
            return True
    for name in outputs:
        if name[-5:] == "_grad" and name[:-5] in inputs:
            return True
    for gradient in g_output:
        if type(gradient) is str and (
            gradient in inputs or gradient in outputs or (gradient[-5:] == "_grad" and gradient[:-5] in inputs)
        ):
            return True
    return False


def _with_refs(op: Operator, g_output: Sequence[Gradient | None]) -> tuple[Operator, list[Gradient | None]]:
    """The same operator and gradients with their names as `BlobRef`."""
    inputs, outputs = _refs(op.inputs, "input"), _refs(op.outputs, "output")
    gradients = [_refs([g], "output gradient")[0] if isinstance(g, str) else g for g in g_output]
    return msgspec.structs.replace(op, inputs=inputs, outputs=outputs), gradients


def _checked(answer: Any, op: Operator, index: int, operator_type: OperatorType, marked: bool) -> Answer:
    if not (isinstance(answer, tuple) and len(answer) == 2):
        returned = f"returned {repr_of(answer)} instead of (operators, gradients of the inputs)"
        raise _failed(op, index, operator_type, returned)
    operators, g_input = _listed(answer[0], Operator, []), _listed(answer[1], Gradient, [None])
    if operators is None:
        raise _failed(op, index, operator_type, f"returned {repr_of(answer[0])} as its operators")
    if g_input is None:
        raise _failed(op, index, operator_type, f"returned {repr_of(answer[1])} as the gradients of the inputs")
    if len(g_input) != len(op.inputs):
        raise _failed(
            op,
            index,
            operator_type,
            f"returned {len(g_input)} gradients for {len(op.inputs)} inputs, with None where none is",
        )
    if not operator_type.is_rule_ours:
        operators = operators.copy()  # a list that its maker may still change
        _check_parts(operators, g_input, op, index, operator_type)
    return Answer(operators, g_input, operator_type.rule_source, marked)


def _listed(given: Any, one: Any, none: list[Any]) -> list[Any] | None:
    """What a rule returned in place of a list, as one: a tuple, a single `one`, or None, which stands for `none`.

    Returns:
        The list; None: it is nothing of that kind.
    """
    if type(given) is list:
        return given
    if given is None:
        return none
    return [given] if isinstance(given, one) else list(given) if isinstance(given, list | tuple) else None


def _check_parts(
    operators: Sequence[Any], g_input: Sequence[Any], op: Operator, index: int, operator_type: OperatorType
) -> None:
    """Refuse what is neither an operator nor a gradient, and an operator whose type or outputs cannot be names."""
    for grad_op in operators:
        if not isinstance(grad_op, Operator):
            raise _failed(op, index, operator_type, f"returned {repr_of(grad_op)} among its operators")
        try:
            check_name(grad_op.type, "type")
            for name in grad_op.outputs:  # what it reads is checked for its scope
                check_name(name, "output")
        except NetError as error:
            raise _failed(op, index, operator_type, f"made an operator that cannot be ({error.message})") from error
    for gradient in g_input:
        if not (gradient is None or isinstance(gradient, (str, GradientSlice))):
            raise _failed(op, index, operator_type, f"returned {repr_of(gradient)} as a gradient")


def _wrong_arity(op: Operator, index: int, slots: Slots) -> GradientError:
    return GradientError(
        f"There are {len(op.inputs)} inputs in {describe(op, index)}; it takes {slots}: {', '.join(slots.names)}.",
        kind="bad_net",
        operator_index=index,
        blobs=op.inputs,
        ways_out=[f"Give {op.type} its inputs {', '.join(slots.names)} in this order."],
    )


def _refused(error: GradvizError, op: Operator, index: int, operator_type: OperatorType) -> GradientError:
    """An error of ours that a rule raised, with the rule and the operator that it was asked for."""
    failure = _failed(op, index, operator_type, f"refused ({error.message})")
    return GradientError(
        failure.message,
        kind=error.kind if isinstance(error, GradientError) else failure.kind,
        operator_index=index,
        blobs=list(map(str, error.blobs)) or failure.blobs,
        ways_out=error.ways_out or failure.ways_out,
    )


def _failed(op: Operator, index: int, operator_type: OperatorType, what: str) -> GradientError:
    where = f" ({operator_type.rule_source})" if operator_type.rule_source else ""
    return GradientError(
        f"The gradient rule of {op.type}{where} {what}, asked for {describe(op, index)}.",
        kind="rule_failed",
        operator_index=index,
        blobs=[*op.outputs, *op.inputs],
        ways_out=["A rule returns (an Operator, a list of them or None, [gradient or None for each input])."],
    )


def settled(answer: Answer, ssa: Ssa[V], names: GradientNames) -> tuple[list[Operator], list[Gradient | None]]:
    """What the rule of `ssa` answered, with fresh names where its own would overwrite what is needed."""
    operators, g_input = answer.operators, answer.g_input
    conflicts: dict[str, str] = {}
    if answer.marked:
        conflicts = {name: names.fresh(name) for name in _read_after_write(operators)}
    scopes: Sequence[str] = ()
    if ssa.op.type in NETS:
        scopes = scopes_of(ssa.op)
        names.use(name for gradient_op in operators for name in gradient_op.outputs)
    for gradient_op in operators:
        for name in gradient_op.outputs:
            if not names.needed(name) or name in scopes or name in conflicts:
                continue
            wanted = _target(name, ssa, g_input)
            if wanted is None or not names.writable(name, wanted):
                conflicts[name] = names.fresh(name)
    if not conflicts:
        return operators, g_input
    return _renamed(operators, conflicts), [with_names(g, lambda name: conflicts.get(name, name)) for g in g_input]


def _read_after_write(operators: Sequence[Operator]) -> set[str]:
    """Names that hold an output gradient, that one operator of a rule overwrites, and that a later one still reads."""
    written: set[str] = set()
    needed: set[str] = set()
    for op in operators:
        for name in op.inputs:
            if name in written and isinstance(name, BlobRef) and name.source == "output gradient":
                needed.add(str(name))
        written.update(op.outputs)
    return needed


def _target(name: str, ssa: Ssa[V], g_input: Sequence[Gradient | None]) -> V | None:
    """The input whose gradient a rule calls `name`."""
    if name in g_input:
        return ssa.reads[g_input.index(name)]
    return next((ssa.reads[slot] for slot, gradient in enumerate(g_input) if name in parts_of(gradient)), None)


def _renamed(operators: list[Operator], names: dict[str, str]) -> list[Operator]:
    """The operators with outputs renamed, and the inputs that read those outputs with them."""
    written: set[str] = set()
    renamed_ops = []
    for op in operators:
        inputs = [names[name] if name in written and type(name) is str else name for name in op.inputs]
        outputs = [names.get(name, name) for name in op.outputs]
        written.update(name for name in op.outputs if name in names)
        if op.type in NETS:
            renamed_ops.append(renamed(op, dict(zip(op.inputs, inputs, strict=True)), names))
        else:
            renamed_ops.append(msgspec.structs.replace(op, inputs=inputs, outputs=outputs))
    return renamed_ops


def written(
    gradient_ops: Sequence[Operator], g_input: Sequence[Gradient | None], first: int, index: int
) -> dict[str, list[Generator]]:
    """The dense gradients that a rule's operators write, by name.

    All steps that write one name are one gradient, unless the input occurs several times: then each writing that does
    not read the name is a gradient of its own. `first` is the number of the first operator among all gradient
    operators, `index` the forward operator.
    """
    generators: dict[str, list[Generator]] = {}
    for position, op in enumerate(gradient_ops, first):
        reads = [name for name in generators if name in op.inputs] if generators else ()
        device = output_device(op)
        for slot, name in enumerate(op.outputs):
            if name not in g_input:
                continue
            earlier = generators.get(name)
            if earlier is None:
                generators[name] = [Generator(name, "generated", index, (Step(position, slot),), device)]
            elif name in reads or len(earlier) == g_input.count(name):
                earlier[-1].steps += (Step(position, slot),)
            else:
                earlier.append(Generator(name, "generated", index, (Step(position, slot),), device))
        for name in reads:
            if name not in op.outputs:
                generators[name][-1].steps += (Step(position, -1),)
    return generators


def steps_of(name: str, gradient_ops: Sequence[Operator], first: int) -> Steps:
    """The steps of a rule that write `name`, and those behind the first that read it."""
    steps: Steps = ()
    for position, op in enumerate(gradient_ops, first):
        if name in op.outputs:
            steps += (Step(position, op.outputs.index(name)),)
        elif steps and name in op.inputs:
            steps += (Step(position, -1),)
    return steps
