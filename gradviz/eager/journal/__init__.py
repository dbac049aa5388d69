"""Journals of define-by-run passes: what ``y.backward()`` does, event by event."""

from .recording import watch_backward

__all__ = ["watch_backward"]
