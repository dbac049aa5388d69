"""Gradient operators, and the rules that make them.

What the slots of a gradient operator are called tells the rule. Let X read x and make y. That XGradient is
"x, dy -> dx" says that the rule of X hands it x and the gradient of y, and gets the gradient of x. The gradient of a
gradient is written with ∂: XGradientGradient reads ∂dx and makes ∂dy. ∂a is the gradient of a, whether a is an input of
the forward operator or itself a gradient.

Where y = f(x) for each element, let dx = dy · s, where the slope s is a function of x, of y, or of both. Then

    ∂dy = ∂dx · s,   ∂x = ∂dx · dy · ∂s/∂x,   ∂y = ∂dx · dy · ∂s/∂y

The first is the gradient operator itself, with ∂dx in place of dy; of the others, each function tells its own.

A rule of several operators is written in `Steps`, each a call that names what it makes, so that it reads as a formula.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import Any

import msgspec

from ..program import Gradient, GradientError, Operator
from .inference import elementwise, like_forward, like_last
from .registry import (
    Gradients,
    Inference,
    Kernel,
    Rule,
    RuleAnswer,
    Slots,
    definition_of,
    lookup,
    operator,
    register_gradient,
)

Bend = Callable[..., str | Mapping[str, str]]
"""``bend(do, both, **blobs)``: of ``both`` = ∂dx · dy, that of x or y, or of each by name where the slope has both."""


def gradient_name(blob: str) -> str:
    """The name that rules give the dense gradient of `blob`."""
    return f"{blob}_grad"


def is_gradient_of(word: str, blobs: Container[str]) -> bool:
    """Whether a gradient of one of the `blobs`, or a part of one, may be called so."""
    blob, sign, _ = word.partition("_grad")
    return bool(sign) and blob in blobs


def gradient_operator(
    op: Operator, type: str, inputs: Sequence[Any], outputs: Sequence[str], args: Mapping[str, Any] | None = None
) -> Operator:
    """An operator of `op`'s backward pass: on its device, marked as a gradient.

    Args:
        inputs: names, and gradients of outputs; one that is None is reported when the operator joins the pass.
        args: its arguments; None: those of `op` travel along.
    """
    args = op.args if args is None else dict(args)
    return Operator(type, inputs, outputs, args, op.device, "", True, op.engine)  # type: ignore[arg-type]


def shape_source(op: Operator, position: int) -> str:
    """Input `position`, for a gradient operator that reads its shape alone: the first output where that overwrote it.

    Only for types whose first output has the shape of their input.
    """
    name = op.inputs[position]
    return op.outputs[0] if op.outputs[0] == name else name


def op_gradient(
    op: Operator,
    inputs: Sequence[Gradient | None],
    wanted: Sequence[int] = (0,),
    type: str = "",
    args: Mapping[str, Any] | None = None,
) -> tuple[Operator, Gradients]:
    """The common rule: one operator that reads `inputs` and writes the gradients of the inputs `wanted` of `op`.

    Args:
        type: its type; left out: ``<type>Gradient``.
        args: see `gradient_operator`.
    """
    g_input: Gradients = [None] * len(op.inputs)
    names = []
    for index in wanted:
        g_input[index] = name = f"{op.inputs[index]}_grad"
        names.append(name)
    return gradient_operator(op, type or f"{op.type}Gradient", inputs, names, args), g_input


class Steps:
    """The operators of one rule, in order, for operator `op`; what they make is numbered until `answer` names it.

    Example:
        >>> def sigmoid_gradient_rule(op, g_output):
        ...     do, (y, dy), g_dx = Steps(op), op.inputs, g_output[0]
        ...     both = do("Mul", g_dx, dy)
        ...     g_y = do("Sub", both, do("Scale", do("Mul", both, y), scale=2.0))
        ...     return do.answer(g_y, do("SigmoidGradient", y, g_dx))
    """

    def __init__(self, op: Operator) -> None:
        self.op = op
        self._steps: list[Operator] = []
        self._base = f"_{gradient_name(op.outputs[0])}"
        self._count = 0

    def __call__(self, type: str, /, *inputs: Gradient | None, **args: object) -> str:
        """Append an operator with one output, whose name this returns."""
        return self.several(1, type, *inputs, **args)[0]

    def several(self, count: int, type: str, /, *inputs: Gradient | None, **args: object) -> list[str]:
        """Append an operator with `count` outputs, whose names this returns."""
        names = [f"{self._base}_{number}" for number in range(self._count, self._count + count)]
        self._count += count
        self._steps.append(gradient_operator(self.op, type, inputs, names, args))
        return names

    def fill(self, like: Gradient | None, value: float) -> str:
        """Append an array of one value in the shape of `like`."""
        return self("ConstantFill", like, value=value)

    def or_zeros(self, gradients: Iterable[Gradient | None], like: Iterable[str]) -> list[Gradient]:
        """`gradients`; where one is None, zeros in the shape of its entry of `like`."""
        return [self.fill(name, 0.0) if g is None else g for g, name in zip(gradients, like, strict=True)]

    def sum(self, *terms: Gradient | None) -> Gradient | None:
        """The sum of the terms, of one shape, that there are; None where there are none."""
        given = [term for term in terms if term is not None]
        return self("Sum", *given) if len(given) > 1 else next(iter(given), None)

    def of_factors(self, g: Gradient | None, rows: str, factors: str) -> tuple[str, str]:
        """The gradients of `rows` and of `factors`, one a row or one for all, where g is that of rows · factors."""
        g_rows, g_factors = self.several(2, "MulGradient", g, rows, factors, broadcast=1, axis=0)
        return g_rows, g_factors

    def answer(self, *g_input: Gradient | None) -> RuleAnswer:
        """What the rule returns. Inputs behind the last gradient that is given have none.

        A gradient that a step writes is called as rules call it, x_grad, unless a later step still reads a blob of that
        name: for a gradient operator, y_grad is both its input dy and the gradient of y.
        """
        g_input += (None,) * (len(self.op.inputs) - len(g_input))
        usual = [gradient_name(x) for x in self.op.inputs]
        names: dict[str, str] = {}
        for index, step in enumerate(self._steps):
            read_later = {name for later in self._steps[index + 1 :] for name in later.inputs}
            for gradient, name in zip(g_input, usual, strict=True):
                is_single = usual.count(name) == 1 or gradient not in read_later
                if isinstance(gradient, str) and gradient in step.outputs and name not in read_later and is_single:
                    names.setdefault(gradient, name)
        steps = [_renamed(step, names) for step in self._steps]
        return steps, [names.get(g, g) if isinstance(g, str) else g for g in g_input]


def _renamed(op: Operator, names: dict[str, str]) -> Operator:
    inputs = [names.get(name, name) if type(name) is str else name for name in op.inputs]
    return msgspec.structs.replace(op, inputs=inputs, outputs=[names.get(name, name) for name in op.outputs])


def arriving(g_output: Gradients, count: int) -> Sequence[Gradient | None]:
    """The gradients of `count` outputs, of which the operator may have left out the last: those have none."""
    return [*g_output, *[None] * (count - len(g_output))]


def gradient_of(
    type: str,
    signature: str,
    derivative: str = "",
    *,
    formula: str = "",
    infer: Inference | None = None,
    args: Mapping[str, Any] | None = None,
    rule: Rule | None = None,
    second: Rule | None = None,
    doc: str = "",
) -> Callable[[Kernel], Kernel]:
    """Define ``<type>Gradient`` around its kernel, and the rule of `type` that makes it.

    Args:
        type: a defined type.
        signature: slots, as `operator` has them.
        derivative: the gradient of what it reads, as plain text.
        formula: what it computes; left out: the derivative that `type` states.
        infer: shape inference; None: `like_forward`.
        args: arguments it takes; None: those of `type`.
        rule: None: the rule that the slots tell.
        second: its own rule, where a word tells it: see `by`.
        doc: what it does; left out: the docstring of the kernel, or that it is the gradient of `type`.
    """
    forward = lookup(type)
    assert forward is not None
    plain = f"Gradient{'s' if ',' in signature.partition('->')[2] else ''} of {type}."

    def define(kernel: Kernel) -> Kernel:
        operator(
            f"{type}Gradient",
            signature,
            formula or forward.derivative,
            derivative,
            infer=infer or like_forward(),
            args=forward.args if args is None else args,
            rule=second,
            doc=doc or ("" if kernel.__doc__ else plain),
        )(kernel)
        register_gradient(type)(rule or wraps(kernel)(rule_by_slots(type)))
        return kernel

    return define


def by(type: str, signature: str) -> Rule:
    """The rule that makes one operator, which reads and makes what the slots in `signature` name.

    ``by("Mul", "y, dy -> dx")`` is the rule of Exp: its gradient is y · dy.

    Args:
        type: its type; left out: ``X`` for the rule of ``XGradient``.
        signature: of the slots of the operator that the rule is for, and of their gradients.
    """
    reads, _, makes = signature.partition("->")
    places = _places(Slots.parse(reads), Slots.parse(makes), "∂" if "∂" in makes else "d")

    def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        read, wanted = places(op.type, len(op.inputs), len(op.outputs))
        row = [*op.inputs, *op.outputs, *g_output]
        return op_gradient(op, [row[place] for place in read], wanted, type or op.type.removesuffix("Gradient"))

    return rule


def rule_by_slots(type: str) -> Rule:
    """The rule of `type` that the slots of `type` and of ``<type>Gradient`` tell.

    Of a gradient of several outputs some may not be asked for: zeros stand in for what arrives at them. Where the
    gradient operator reads that of the first output alone, none may arrive at the others.
    """
    inputs, outputs, _ = definition_of(type)
    reads, makes, _ = definition_of(f"{type}Gradient")
    mark = "∂" if type.endswith("Gradient") else "d"
    places = _places(reads, makes, mark)
    has_statistics = len(outputs.names) > 1 and not any(mark + y in reads.names for y in outputs.names[1:])

    def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        if has_statistics:
            only_through_first(op, g_output)
        read, wanted = places(type, len(op.inputs), len(op.outputs))
        if mark == "∂" and None in g_output:
            do = Steps(op)
            xs, ys = dict(zip(inputs.filled(len(op.inputs)), op.inputs, strict=True)), outputs.filled(len(op.outputs))
            given = do.or_zeros(g_output, [xs.get(y[1:], output) for y, output in zip(ys, op.outputs, strict=True)])
            row: Gradients = [*op.inputs, *op.outputs, *given]
            gradients = do.several(len(wanted), f"{type}Gradient", *[row[place] for place in read], **op.args)
            return do.answer(*[gradients[wanted.index(at)] if at in wanted else None for at in range(len(op.inputs))])
        row = [*op.inputs, *op.outputs, *g_output]
        return op_gradient(op, [row[place] for place in read], wanted)

    return rule


def only_through_first(op: Operator, g_output: Gradients) -> None:
    """Raise GradientError where a gradient arrives at an output other than the first."""
    for name, gradient in zip(op.outputs[1:], g_output[1:], strict=True):
        if gradient is not None:
            raise GradientError(
                f"{op} passes no gradient through {name}, and one arrives there.",
                kind="no_gradient_rule",
                blobs=[name],
                ways_out=[f"Put StopGradient behind {name}.", "Compute the statistic with operators of its own."],
            )


def _places(reads: Slots, makes: Slots, mark: str) -> Callable[[str, int, int], tuple[list[int], list[int]]]:
    """What tells a rule the places of the slots that it names, from a type and its numbers of inputs and outputs.

    `mark` is what the names of gradients begin with.
    """

    @cache
    def places(type: str, input_count: int, output_count: int) -> tuple[list[int], list[int]]:
        """Which it reads of the inputs, outputs and gradients of outputs in a row; which inputs get a gradient."""
        inputs, outputs, _ = definition_of(type)
        xs, ys = inputs.filled(input_count), outputs.filled(output_count)
        row = [*xs, *ys, *[mark + y for y in ys]]
        return (
            [place for name in reads.names for place, there in enumerate(row) if there == name],
            [place for name in makes.names for place, x in enumerate(xs) if mark + x == name],
        )

    return places


def _rule_by_bend(slots: Sequence[str], bend: Bend) -> Rule:
    """The rule of a gradient operator with these slots, of whose slope `bend` tells how it changes."""

    @wraps(bend)
    def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        do, blobs = Steps(op), dict(zip(slots, op.inputs, strict=True))
        of_dy = do(op.type, *(blobs | {"dy": g_output[0]}).values(), **op.args)
        both = do("Mul", g_output[0], blobs.pop("dy"))
        bent = bend(do, both, **blobs)
        gradients = {"dy": of_dy, **(dict.fromkeys(blobs, bent) if isinstance(bent, str) else bent)}
        return do.answer(*(gradients.get(slot) for slot in slots))

    return rule


def pointwise(
    type: str,
    doc: str,
    value: tuple[str, Kernel],
    slope: tuple[str, str, Kernel],
    bend: tuple[str, Bend] | None = None,
    *,
    infer: Inference = elementwise,
    args: Mapping[str, Any] | None = None,
    note: str = "",
) -> None:
    """Define a function of each element y = f(x), its gradient, and the gradient of that.

    Args:
        value: ``y = f(x)`` as text and as a kernel.
        slope: ``dx = dy · s`` as text, the slots that it reads, and as a kernel; without `bend`, dx is like dy.
        bend: the gradients of x and y as text, and as `Bend` has them; None: f is made of straight lines.
        note: what dx is where f has no slope, as ``0 at the corner``.
    """
    (formula, kernel), (derivative, reads, gradient) = value, slope
    slots = reads.split(", ")
    operator(type, "x -> y", formula, derivative, infer=infer, args=args, doc=doc)(kernel)
    gradient_of(
        type,
        f"{reads} -> dx",
        "∂dy" + derivative.removeprefix("dx").replace("dy", "∂dx") + (f", {bend[0]}" if bend else ""),
        infer=elementwise if bend else like_last,
        second=None if bend else by(f"{type}Gradient", reads.replace("dy", "∂dx") + " -> ∂dy"),
        doc=f"Gradient of {type}{'' if 'x' in slots else ' from its output'}{note and '; '}{note}.",
    )(gradient)
    if bend:
        register_gradient(f"{type}Gradient")(_rule_by_bend(slots, bend[1]))
