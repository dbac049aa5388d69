"""Functions of Variables: ``import gradviz.functions as F``. They are written in `gradviz.eager.functions`."""

from .eager.functions import *  # noqa: F403
from .eager.functions import __all__ as __all__
