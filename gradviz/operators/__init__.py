"""The one table of operators: importing this package defines every family in it."""

from importlib import import_module
from pkgutil import iter_modules

from .registry import ArraySpec, OperatorType, is_constant, lookup, register_gradient, register_kernel, similar, types

__all__ = [
    "ArraySpec",
    "OperatorType",
    "is_constant",
    "lookup",
    "register_gradient",
    "register_kernel",
    "similar",
    "types",
]

for _family in iter_modules(__path__, f"{__name__}."):
    import_module(_family.name)
