"""The rules of the doctor, in the order of their findings: first what keeps a pass from running."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .case import Case
from .damage import freed, overwritten
from .diagnosis import Finding
from .hooks import hooks
from .losses import along_the_batch, applied_twice, divergence, no_logarithms, stretched
from .no_gradient import frozen, none_sent, parameters_without
from .no_loss import loss_without
from .not_finite import not_finite
from .sizes import sizes, symmetric
from .structure import computed_once, hidden_modules, parameters_of_a_call, plain_tensors, switched, tied_by_data
from .training import doubled, fails, no_leaves, not_scalar, running, second_derivatives, uncalled
from .updates import emptied, forgotten, late, missed, replaced, still
from .zeros import zeros

Rule = Callable[[Case], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    loss_without,
    not_scalar,
    overwritten,
    computed_once,
    freed,
    second_derivatives,
    uncalled,
    fails,
    not_finite,
    no_leaves,
    plain_tensors,
    hidden_modules,
    switched,
    parameters_of_a_call,
    tied_by_data,
    replaced,
    forgotten,
    emptied,
    late,
    missed,
    still,
    running,
    parameters_without,
    none_sent,
    zeros,
    symmetric,
    doubled,
    sizes,
    stretched,
    applied_twice,
    no_logarithms,
    along_the_batch,
    divergence,
    hooks,
    frozen,
)
"""Each looks at a case and yields what it finds."""
