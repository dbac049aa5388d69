"""Journals of define-by-run passes: what ``y.backward()`` does, event by event."""

from .live import LiveBackward
from .recording import watch_backward

__all__ = ["LiveBackward", "watch_backward"]
