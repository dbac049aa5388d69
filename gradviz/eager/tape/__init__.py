"""The tape: recorded functions as a program, its gradient flow, and the names that tensors and operators have in it.

The "tape" schedule runs functions backward in the order in which the IR visits operators, see `gradviz.eager.tape.run`;
`run_gradient_flow` lets the IR make the operators of such a pass.
"""

from .flow import Sharing, run_gradient_flow
from .pools import OperatorPool, TensorPool, register_buffers
from .run import TapePass, run_by_tape

__all__ = ["OperatorPool", "Sharing", "TapePass", "TensorPool", "register_buffers", "run_by_tape", "run_gradient_flow"]
