"""Recordings of define-by-run passes: what ``y.backward()`` does, event by event."""

from .lending import Lending
from .recording import EagerRecording, record_backward
from .shown import is_python

__all__ = ["EagerRecording", "Lending", "is_python", "record_backward"]
