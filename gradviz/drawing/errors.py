"""Errors of the drawing room."""

from ..program.errors import GradvizError


class DrawingError(GradvizError):
    """A picture that cannot be made.

    ``kind`` is one of ``too_slow``, ``no_engine``, ``bad_dot``, ``bad_svg``, ``too_large``, ``not_found``.
    """
