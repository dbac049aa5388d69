"""What a program is: operators, nets, versions, events, and the errors that speak of them."""

from . import net_halves
from .errors import GradientError, GradvizError, NetError, RegistrationError, RunError
from .net import NetDef
from .operator import Device, Gradient, GradientSlice, Operator

__all__ = [
    "Device",
    "Gradient",
    "GradientError",
    "GradientSlice",
    "GradvizError",
    "NetDef",
    "NetError",
    "Operator",
    "RegistrationError",
    "RunError",
]

# The text numbers what nested nets read and write, and that is known above NetDef.
NetDef.__str__ = net_halves.text  # type: ignore[assignment, method-assign]
