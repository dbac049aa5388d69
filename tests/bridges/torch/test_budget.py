"""Recordings within a budget: what does not fit lies in a file, and everything else is as without one, to the bit."""

from weakref import ref

import numpy as np
import pytest
import torch

import gradviz
from gradviz.runtime.spill import StoreError
from tests.bridges.torch.models import MODELS

KINDS = [
    "MLP",
    "sparse embedding",
    "mixed precision",
    "Function with two outputs",
    "reentrant checkpoint",
    "second derivatives",
]


def recorded(name, **options):
    """A recording of a model that is the same at each call, and the model."""
    torch.manual_seed(7)
    model, loss = MODELS[name]()
    return gradviz.debug(loss, **options), model


def bits(session):
    """Every value with its shape and type, by name and version."""
    values = session._recording.values
    return {key: (values[key].shape, values[key].dtype.str, values[key].tobytes()) for key in values}


def happened(session):
    """The kinds of the events, and the program."""
    return [event.kind for event in session.events], list(map(str, session._recording.operators))


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_a_budget_changes_no_value_and_no_event(name, write):
    plain, model = recorded(name, write=write)
    frugal, other = recorded(name, write=write, budget=0)
    assert bits(frugal) == bits(plain)
    assert happened(frugal) == happened(plain)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert (one.grad is None) is (two.grad is None)
        assert one.grad is None or torch.equal(one.grad.to_dense(), two.grad.to_dense())
    contents = frugal.store()
    assert contents.kept.bytes == 0
    assert contents.spilled.arrays > 0
    assert contents.read_again > 0


def chain(gradients=None):
    """The end of a chain of operators; `gradients` gets a weak reference to each gradient on the way."""
    h = torch.ones(1000, requires_grad=True) * 2
    for _ in range(20):
        h = torch.tanh(h)
        if gradients is not None:
            h.register_hook(lambda gradient: gradients.append(ref(gradient)))
    return h.sum()


def test_what_the_engine_makes_is_let_go():
    gradients = []
    loss = chain(gradients)
    session = gradviz.debug(loss, budget="20 kB")
    assert [one() for one in gradients] == [None] * 20
    contents = session.store()
    assert 0 < contents.kept.bytes <= 20_000
    assert contents.spilled.bytes >= 60_000
    assert f"To keep within 20 KB, {contents.spilled.arrays} of" in session.narration
    gradviz.debug(loss)
    assert all(one() is None for one in gradients[:20])


def test_of_what_a_written_pass_frees_the_file_has_what_operators_had_kept():
    beside, written = (gradviz.debug(chain(), write=write, budget=0).store().spilled for write in (False, True))
    assert written.bytes - beside.bytes >= 20 * 4_000


def test_what_is_written_into_afterwards_is_shown_as_it_was():
    w = torch.ones(3, requires_grad=True)
    session = gradviz.debug((w * w).sum(), write=True, budget="1 MB")
    w.grad.zero_()
    assert session.value("w.grad").tolist() == [2, 2, 2]
    assert session.value("w_grad@1").tolist() == [2, 2, 2]


def test_a_tensor_that_is_written_into_between_is_kept_twice():
    """A hook that writes into the gradient that it is given changes what arrives, and not what was sent."""
    w = torch.ones(3, requires_grad=True)
    h = w * 3
    h.register_hook(lambda gradient: gradient.mul_(10))
    k = h * 2
    session = gradviz.debug(k.sum(), budget="1 MB")
    assert session.value("h_grad@0").tolist() == [2, 2, 2]
    assert session.value("h_grad@1").tolist() == [20, 20, 20]
    assert session.value("w_grad").tolist() == [60, 60, 60]


def test_the_file_lies_in_the_folder_and_goes_with_the_session(tmp_path):
    session = gradviz.debug(chain(), budget=0, spill=tmp_path)
    (file,) = tmp_path.iterdir()
    assert np.isfinite(session.value("tanh_3_grad")).all()
    file.write_bytes(b"")
    with pytest.raises(StoreError, match="it was cut off") as caught:
        session.value("tanh_3_grad")
    assert caught.value.kind == "lost"
    del session, caught
    assert not file.exists()


@pytest.mark.parametrize(
    ("options", "kind"),
    [({"budget": "a lot"}, "bad_budget"), ({"spill": "folder"}, "bad_spill"), ({"budget": 1, "spill": 3}, "bad_spill")],
)
def test_a_budget_that_cannot_be_kept_is_refused_before_anything_runs(options, kind):
    seen = []
    w = torch.ones(3, requires_grad=True)
    w.register_hook(seen.append)
    with pytest.raises(StoreError) as caught:
        gradviz.debug(w.sum(), **options)
    assert caught.value.kind == kind
    assert seen == []
