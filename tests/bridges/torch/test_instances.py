"""Objects of a type are found, and nothing refers to any object longer than before."""

import gc
import sys

import torch

from gradviz.bridges.torch.instances import instances


def test_tensors_are_found_those_of_derived_types_and_young_ones_too():
    old = torch.zeros(2)
    gc.collect()
    young = torch.nn.Parameter(torch.zeros(2))
    found = instances(torch.Tensor)
    assert any(one is old for one in found)
    assert any(one is young for one in found)
    assert all(isinstance(one, torch.Tensor) for one in found)


def test_nothing_refers_to_other_objects_afterwards():
    gc.disable()
    try:
        others = [[number] for number in range(5_000)]
        before = list(map(sys.getrefcount, others))
        instances(torch.optim.Optimizer)
        assert list(map(sys.getrefcount, others)) == before
    finally:
        gc.enable()
