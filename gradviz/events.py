"""The events that engines yield, see `gradviz.register_engine`. They are written in `gradviz.program.events`."""

from .program.events import *  # noqa: F403
from .program.events import __all__ as __all__
