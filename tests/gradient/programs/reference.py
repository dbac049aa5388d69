"""The reference: a program run as plain Python over PyTorch in float64, whose autograd has the true gradients.

It shares with gradviz nothing but what operations are called: a branch is an `if`, a loop is a `while`.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .tree import ALWAYS, CONSTANTS, NEVER, ROWS, SHAPE, THRESHOLD, Assign, Block, Body, If, Program, Statement, While

torch.set_num_threads(1)

Variables = dict[str, Tensor]


def leaf(value: Tensor) -> Tensor:
    """`value` as a variable that depends on nothing and has a gradient of its own."""
    return value.detach().double().requires_grad_()


FORMULAS: dict[str, Callable[..., Tensor]] = {
    "Tanh": torch.tanh,
    "Sigmoid": torch.sigmoid,
    "Sin": torch.sin,
    "Sqr": torch.square,
    "Negative": torch.neg,
    "Scale": lambda x: 0.7 * x,
    "Copy": torch.clone,
    "Mul": torch.mul,
    "Add": torch.add,
    "Sub": torch.sub,
    "Sum": lambda *xs: sum(xs[1:], start=xs[0].clone()),
    "Gather": lambda x: x[torch.from_numpy(CONSTANTS[ROWS])],
    "StopGradient": leaf,
    "Floor": lambda x: leaf(torch.floor(x)),
    "Constant": lambda x: leaf(torch.full_like(x, 0.3)),
}
"""What the operations compute. No gradient passes StopGradient, Floor and Constant."""


class Reference:
    """A program after its run.

    Attributes:
        start: the variables where the part that is differentiated begins.
        end: the variables at the end.
        rounds: how many rounds each run of a loop took.
        taken: the outcomes of the conditions of branches.
    """

    def __init__(self, program: Program) -> None:
        self.rounds: list[int] = []
        self.taken: list[bool] = []
        self.end = {name: leaf(torch.from_numpy(array)) for name, array in program.inputs.items()}
        self._run(program.statements[: program.skip], self.end)
        self.end = self.start = {name: leaf(value) for name, value in self.end.items()}
        self.end = dict(self.start)
        self._run(program.statements[program.skip :], self.end)
        self._total = torch.zeros((), dtype=torch.float64, requires_grad=True)
        for y, given in program.ys.items():
            seed = torch.ones_like(self.end[y]) if given is None else torch.from_numpy(given)
            self._total = self._total + (seed * self.end[y]).sum()

    def gradients(self, of: Variables) -> dict[str, np.ndarray]:
        """The gradients of the variables `of`, zeros where no y depends on one."""
        if not of:
            return {}
        found = torch.autograd.grad(self._total, list(of.values()), allow_unused=True, retain_graph=True)
        return {name: np.zeros(SHAPE) if g is None else g.numpy() for name, g in zip(of, found, strict=True)}

    def _run(self, statements: tuple[Statement, ...], variables: Variables) -> None:
        for statement in statements:
            match statement:
                case Assign(target, operation, sources):
                    variables[target] = FORMULAS[operation](*(variables[name] for name in sources))
                case Block(body):
                    self._inside(body, variables)
                case If(condition, then, otherwise):
                    self.taken.append(holds(condition, variables))
                    if self.taken[-1]:
                        self._inside(then, variables)
                    elif otherwise is not None:
                        self._inside(otherwise, variables)
                case While(rounds, condition, body):
                    count = 0
                    while count < rounds and (condition is None or holds(condition, variables)):
                        self._inside(body, variables)
                        count += 1
                    self.rounds.append(count)

    def _inside(self, body: Body, variables: Variables) -> None:
        inner = {name: value for name, value in variables.items() if name in body.outer}
        self._run(body.statements, inner)
        variables.update({name: value for name, value in inner.items() if name in body.outer})


def holds(condition: str, variables: Variables) -> bool:
    """Whether a condition holds."""
    if condition in (ALWAYS, NEVER):
        return condition == ALWAYS
    return bool(variables[condition].detach().sum() < float(CONSTANTS[THRESHOLD]))
