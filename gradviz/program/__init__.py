"""What a program is: operators, nets, versions, events, and the errors that speak of them."""

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
