"""Functions of Variables, arrays and numbers, with numpy's and Chainer's names; each is a type of the operator table.

Every function takes Variables, arrays, numbers and lists in the places of its arrays (``Operand``) and returns a
Variable, or a tuple of them. What is no Variable is a constant. Misfits raise RunError before or while the function
runs: it names the function, the shapes and dtypes, and the ways out.
"""

from . import activations, calling, elementwise, matrices, reductions, shaping
from .activations import *  # noqa: F403
from .calling import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .matrices import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shaping import *  # noqa: F403

__all__ = [
    *activations.__all__,
    *calling.__all__,
    *elementwise.__all__,
    *matrices.__all__,
    *reductions.__all__,
    *shaping.__all__,
]
