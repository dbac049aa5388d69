"""Recordings of define-by-run passes: what ``y.backward()`` does, event by event."""

from .recording import EagerRecording, record_backward

__all__ = ["EagerRecording", "record_backward"]
