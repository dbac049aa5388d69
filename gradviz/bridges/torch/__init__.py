"""The bridge to PyTorch: the backward pass of its real engine, recorded."""

import torch

from ...debugger.journal import add_engine
from .capture import capture
from .doctor import diagnose, explain
from .engine import record
from .live import LivePass
from .process import parameters_beside, rank, seeded

add_engine(torch.Tensor, record, "a tensor", "debug(loss)", LivePass)

__all__ = ["capture", "diagnose", "explain", "parameters_beside", "rank", "seeded"]
