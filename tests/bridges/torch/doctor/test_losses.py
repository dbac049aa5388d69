"""Losses of predictions and targets that are not of one shape."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gradviz

X, ROW = torch.linspace(-1, 1, 32).view(8, 4), torch.linspace(0, 1, 8)
COLUMN = ROW.unsqueeze(1)

STRETCHED = {
    "mse_loss": lambda p: F.mse_loss(p, ROW),
    "l1_loss": lambda p: F.l1_loss(p, ROW),
    "huber_loss": lambda p: F.huber_loss(p, ROW),
    "not reduced": lambda p: F.smooth_l1_loss(p, ROW, reduction="none").sum(),
    "square": lambda p: ((p - ROW) ** 2).mean(),
    "the other way round": lambda p: torch.square(ROW - p).mean(),
    "root": lambda p: (2 * (p - ROW).abs()).mean().sqrt(),
    "targets of a column": lambda p: F.mse_loss(p.squeeze(), COLUMN),
}

MEANT = {
    "columns": lambda p: (p - COLUMN).square().mean(),
    "rows": lambda p: F.mse_loss(p.squeeze(1), ROW),
    "pairs of predictions": lambda p: (p - p.T).square().mean(),
    "pairs with targets": lambda p: (p.squeeze().unsqueeze(1) - ROW).square().mean(),
    "a matrix": lambda p: (p - TABLE).square().mean(),
    "a kernel": lambda p: torch.exp(-((p - ROW) ** 2)).mean(),
}

TABLE = torch.eye(8)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", STRETCHED)
@pytest.mark.parametrize("is_captured", [True, False])
@pytest.mark.parametrize("is_after", [True, False])
def test_predictions_that_targets_stretch_are_found(name, is_captured, is_after):
    model = nn.Linear(4, 1)
    with gradviz.torch.capture(model) if is_captured else nullcontext():
        loss = STRETCHED[name](model(X))
    if is_after:
        loss.backward()
    (found,) = [one for one in gradviz.diagnose(loss, model).findings if one.kind == "stretched"]
    assert found.harm is is_captured  # else nothing says what the targets were like
    own, others = ("8 elements", "8 × 1") if "column" in name else ("8 × 1", "8 elements")
    assert f"stretches predictions of {own} to 8 × 8, as targets of {others} do: each pred" in found.sentence
    ways = "unsqueeze(1), or target.squeeze(1)" if own == "8 elements" else "squeeze(1), or target.unsqueeze(1)"
    assert found.ways_out == (f"Give both one shape: prediction.{ways}.",)


@pytest.mark.parametrize("name", MEANT)
def test_shapes_that_are_meant_are_healthy(name):
    model = nn.Linear(4, 1)
    with gradviz.torch.capture(model):
        loss = MEANT[name](model(X))
    assert "stretched" not in [one.kind for one in gradviz.diagnose(loss, model).findings]


def test_logits_where_logarithms_are_wanted_are_a_remark():
    model, (x, y) = nn.Linear(4, 3), (torch.ones(5, 4), torch.zeros(5, dtype=torch.long))
    nn.init.ones_(model.weight)
    (found,) = gradviz.diagnose(F.nll_loss(model(x), y), model).findings
    assert (found.kind, found.harm) == ("twice", False)
    assert "`nll_loss` takes logarithms of probabilities, and is given numbers above 0" in found.sentence
    assert not gradviz.diagnose(F.nll_loss(model(x).log_softmax(1), y), model).findings


@pytest.mark.parametrize("normalize", [F.log_softmax, lambda x, dim: F.softmax(x, dim).log()])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_probabilities_along_the_batch_are_a_remark(normalize, dim):
    model = nn.Linear(4, 3)
    with gradviz.torch.capture(model):
        h = normalize(model(torch.ones(5, 4)), dim)
        loss = F.nll_loss(h, torch.zeros(5, dtype=torch.long))
    findings = [one for one in gradviz.diagnose(loss, model).findings if one.kind == "twice"]
    assert [(one.harm, "goes along dimension 0 of 5 × 3, and" in one.sentence) for one in findings] == (
        [(False, True)] if dim == 0 else []
    )


@pytest.mark.parametrize("normalize", [F.softmax, F.log_softmax])
def test_a_divergence_of_probabilities_without_their_logarithm_is_a_remark(normalize):
    model = nn.Linear(4, 3)
    with gradviz.torch.capture(model):
        given = normalize(model(torch.ones(5, 4)), 1)
        loss = F.kl_div(given, torch.tensor([[0.7, 0.2, 0.1]]).expand(5, 3))
    findings = [one for one in gradviz.diagnose(loss, model).findings if one.kind == "twice"]
    assert [(one.harm, one.line.text.partition("(")[0]) for one in findings] == (
        [(False, "loss = F.kl_div")] if normalize is F.softmax else []
    )
