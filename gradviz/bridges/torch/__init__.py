"""The bridge to PyTorch: the backward pass of its real engine, recorded."""

import torch

from ...debugger.journal import add_engine
from .engine import record

add_engine(torch.Tensor, record, "a tensor", "debug(loss)")

__all__ = ["record"]
