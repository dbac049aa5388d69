"""What operators returned, that PyTorch needs no more: it is there where a variable or a capture has kept it."""

import gc
from weakref import ref

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

import gradviz
from gradviz.bridges.torch.capture import REMEMBERED
from gradviz.bridges.torch.engine import record
from gradviz.bridges.torch.graph import unwrapped
from gradviz.bridges.torch.values import RETURNED
from tests.bridges.torch.models import MODELS


@pytest.mark.parametrize(
    "name", sorted(MODELS.keys() - {"second derivatives"})
)  # whose modules run inside of transforms
def test_a_capture_that_keeps_has_all_that_modules_returned_to_the_bit(name):
    torch.manual_seed(7)
    seen = []

    def look(module, given, returned):
        is_whole = isinstance(returned, torch.Tensor) and unwrapped(returned) is returned
        if is_whole and returned.grad_fn is not None:
            seen.append((returned, returned._version, returned.detach().clone()))

    hook = register_module_forward_hook(look)
    with gradviz.torch.capture(keep=True):
        _, loss = MODELS[name]()
    hook.remove()
    copies = [copy for returned, version, copy in seen if returned._version == version]  # not written into later
    seen.clear()
    values = record(loss).values
    bits = {values[key].tobytes() for key in values if values[key].dtype.kind == "f"}
    assert copies
    assert all(copy.float().numpy().tobytes() in bits for copy in copies)


def layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)), torch.randn(5, 4)


def test_what_was_not_kept_says_how_to_keep_it_and_is_there_if_that_is_done():
    model, x = layers()
    with gradviz.torch.capture(model):
        loss = (model(x) + 1).square().mean()
    with pytest.raises(gradviz.GradvizError, match="did not keep it") as error:
        gradviz.debug(loss).value("0")
    assert RETURNED not in loss.grad_fn.metadata
    assert "gradviz.torch.capture(model, keep=True)" in error.value.ways_out[0]
    with gradviz.torch.capture(model, keep=True):
        loss = (model(x) + 1).square().mean()
    for session in (gradviz.debug(loss), gradviz.live(loss).finish(), gradviz.debug(loss, write=True)):
        assert np.array_equal(session.value("0"), model[0](x).detach())
        assert np.array_equal(session.value("add"), model(x).detach() + 1)


def test_a_file_says_too_that_what_was_computed_was_not_kept(tmp_path):
    model, x = layers()
    gradviz.debug(model(x).sum()).save(tmp_path / "layers.gradviz.json")
    read = gradviz.load(tmp_path / "layers.gradviz.json")
    with pytest.raises(gradviz.GradvizError, match="its operator ran, and what it made was not kept"):
        read.value("addmm")
    with pytest.raises(gradviz.GradvizError, match="a saved trace keeps statistics"):
        read.value("relu")


def test_what_a_variable_holds_needs_no_capture_unless_it_was_written_into():
    model, x = layers()
    h = model[0](x)
    loss = torch.relu(h).sum()
    assert np.array_equal(gradviz.debug(loss).value("h"), h.detach())
    with torch.no_grad():
        h.add_(1)
    with pytest.raises(gradviz.GradvizError, match="did not keep it"):
        gradviz.debug(loss).value("h")


def test_of_what_is_written_in_place_the_result_is_there_and_not_what_was_overwritten():
    model, x = layers()
    with gradviz.torch.capture(keep=True):
        h = model[0](x)
        h.mul_(2)
        loss = h.contiguous().sum()  # returned once more, as it was
    session = gradviz.debug(loss)
    assert np.array_equal(session.value("h_1"), h.detach())
    with pytest.raises(gradviz.GradvizError, match="written into after"):
        session.value("h")
    with torch.no_grad():
        h.add_(1)
    with pytest.raises(gradviz.GradvizError, match="written into after"):
        gradviz.debug(loss).value("h_1")


def test_what_a_capture_keeps_goes_with_the_graph():
    model, x = layers()
    with gradviz.torch.capture(model, keep=True):
        loss = model(x).sum()
    (kept,) = loss.grad_fn.metadata[RETURNED].values()
    kept = ref(kept.tensor)
    assert kept() is not None
    del loss
    gc.collect()
    assert kept() is None


def test_what_is_looked_at_inside_of_a_capture_is_no_part_of_what_was_captured():
    model, x = layers()
    with gradviz.torch.capture(model, keep=True):
        h = model[0](x)
        gradviz.debug(h.sum())
    assert "detach" not in [step.function for step in REMEMBERED[-1].flow.steps]


def test_a_view_that_pytorch_itself_refuses_is_in_nobodys_way():
    whole = torch.zeros(4, requires_grad=True) * 1
    with torch.no_grad():
        view = whole[:2]
    whole.add_(1)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view.sum()
    model, x = layers()
    assert gradviz.debug(model(x).sum()).value("0.bias_grad").shape == (3,)
