"""Gradients that PyTorch itself has wrong, by release and device: a check finds them as it finds those of a user."""

import torch
from torch import nn

import gradviz


def test_batch_normalization_over_an_image_that_is_a_view():
    """In PyTorch 2.13 it is wrong on a CPU where the strides of x and of its gradient differ."""
    h, image, sequence = torch.randn(2, 4, 3, requires_grad=True), nn.BatchNorm2d(3), nn.BatchNorm1d(3)

    def compute(is_image=True):
        x = h.transpose(1, 2)
        y = image(x.unsqueeze(-1)).squeeze(-1) if is_image else sequence(x)
        return (y * torch.arange(4.0)).sum()

    gradients = [torch.autograd.grad(compute(is_image), h)[0] for is_image in (True, False)]
    verdict = gradviz.debug(compute(), forward=compute).check("h").verdict
    assert verdict == ("agrees" if torch.allclose(*gradients, atol=1e-3) else "differs")
