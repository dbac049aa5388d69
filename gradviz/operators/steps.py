"""Rules of several operators: each step is a call that names what it makes, so that a rule reads like its formula.

The gradient of a gradient mostly is made of operators that exist. In the derivative of a gradient type, ∂a is the
gradient of a, whether a is an input of the forward operator or itself a gradient: dx = dy · y (1 - y) has

    ∂dy = ∂dx · y (1 - y),   ∂y = ∂dx · dy (1 - 2y)
"""

from collections.abc import Iterable, Sequence

import msgspec

from ..program import Gradient, Operator
from .registry import Gradients, RuleAnswer, gradient_name, gradient_operator


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
        self._made: list[Operator] = []
        self._base = f"_{gradient_name(op.outputs[0])}"
        self._count = 0

    def __call__(self, type: str, /, *inputs: Gradient | None, **args: object) -> str:
        """Append an operator with one output, whose name this returns."""
        return self.several(1, type, *inputs, **args)[0]

    def several(self, count: int, type: str, /, *inputs: Gradient | None, **args: object) -> list[str]:
        """Append an operator with `count` outputs, whose names this returns."""
        names = [f"{self._base}_{number}" for number in range(self._count, self._count + count)]
        self._count += count
        self._made.append(gradient_operator(self.op, type, inputs, names, args))
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

        A gradient that a step made is called as rules call it, x_grad, unless a later step still reads a blob of that
        name: for a gradient operator, y_grad is both its input dy and the gradient of y.
        """
        g_input += (None,) * (len(self.op.inputs) - len(g_input))
        usual = [gradient_name(x) for x in self.op.inputs]
        names: dict[str, str] = {}
        for index, step in enumerate(self._made):
            read_later = {name for later in self._made[index + 1 :] for name in later.inputs}
            for made, name in zip(g_input, usual, strict=True):
                is_single = usual.count(name) == 1 or made not in read_later
                if isinstance(made, str) and made in step.outputs and name not in read_later and is_single:
                    names.setdefault(made, name)
        steps = [_renamed(step, names) for step in self._made]
        return steps, [names.get(g, g) if isinstance(g, str) else g for g in g_input]


def _renamed(op: Operator, names: dict[str, str]) -> Operator:
    inputs = [names.get(name, name) if type(name) is str else name for name in op.inputs]
    return msgspec.structs.replace(op, inputs=inputs, outputs=[names.get(name, name) for name in op.outputs])


def arriving(g_output: Gradients, count: int) -> Sequence[Gradient | None]:
    """The gradients of `count` outputs, of which the operator may have left out the last: those have none."""
    return [*g_output, *[None] * (count - len(g_output))]
