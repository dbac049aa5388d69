"""The tape: recorded functions as a program, its gradient flow, and the names that tensors and operators have in it.

The "tape" schedule turns the functions, in the order of creation, into forward operators; the IR makes the gradient
flow of them, and its operators run on the values that are there. See `gradviz.eager.tape.schedule`.
"""

from .flow import gradient_flow, run_gradient_flow
from .plan import Segment, TapePlan, plan_tape
from .pools import OperatorPool, TensorPool, register_buffers
from .run import TapeRun
from .schedule import run_by_tape
from .sharing import Sharing

__all__ = [
    "OperatorPool",
    "Segment",
    "Sharing",
    "TapePlan",
    "TapeRun",
    "TensorPool",
    "gradient_flow",
    "plan_tape",
    "register_buffers",
    "run_by_tape",
    "run_gradient_flow",
]
