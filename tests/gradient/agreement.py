"""Whether what gradviz computed is the truth: values, gradients, and that nothing was passed over in silence."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from gradviz import Net, Workspace
from gradviz.program import Gradient
from tests.gradient.nets.strategy import RandomNet
from tests.gradient.reference.run import FIRST_OUTPUT_ONLY, WITHOUT_RULE
from tests.gradient.truth import Truth

TOLERANCE, SINGLE = 1e-9, 1e-6
"""How far gradients may differ, as a part of the greatest gradient anywhere in the net or of 1; those in float32."""


def ran(net: Net, case: RandomNet) -> Workspace:
    """A workspace in which `net` ran on what `case` feeds."""
    workspace = Workspace()
    for name, array in {**case.feeds, **case.given}.items():
        workspace.feed(name, array)
    workspace.run(net)
    return workspace


def assert_values_agree(workspace: Workspace, truth: Truth) -> None:
    """Every blob of the forward net still holds what the reference computed, and given gradients what was given."""
    for name, blob in truth.run.latest.items():
        assert_value_agrees(workspace, name, truth.run.values[blob])
    for name, array in truth.case.given.items():
        np.testing.assert_array_equal(workspace[name], array, err_msg=f"{name} was overwritten")


def assert_value_agrees(workspace: Workspace, name: str, expected: Tensor) -> None:
    """Blob `name` is what the reference expected."""
    value = workspace[name]
    assert value.shape == tuple(expected.shape), f"{name} {tuple(expected.shape)} has the shape {value.shape}"
    digits = SINGLE if value.dtype == np.float32 else TOLERANCE
    np.testing.assert_allclose(value, expected.detach().numpy(), rtol=digits, atol=digits, err_msg=f"value of {name}")


def assert_gradients_agree(workspace: Workspace, gradients: Mapping[str, Gradient], truth: Truth) -> None:
    """Each gradient in the map is that of the earliest version that has one; what the map lacks has none at first."""
    for name, latest in truth.run.latest.items():
        if name in gradients:
            expected = truth.of_earliest_reached(name)
            like = truth.run.values[latest] if expected is None else expected
            assert_gradient_agrees(workspace, name, gradients[name], expected, like, truth.scale)
        else:
            assert_no_gradient(name, truth.gradients[name, 0])


def assert_gradient_agrees(
    workspace: Workspace, name: str, gradient: Gradient, expected: Tensor | None, like: Tensor, scale: float
) -> None:
    """`gradient` is the gradient of blob `name`, which is `like` this; where the reference has none it is zero."""
    wanted = torch.zeros_like(like) if expected is None else expected
    actual = dense(workspace, gradient, tuple(like.shape))
    assert actual.shape == tuple(like.shape), f"the gradient of {name} {tuple(like.shape)} has the shape {actual.shape}"
    tolerance = SINGLE if actual.dtype == np.float32 else TOLERANCE
    np.testing.assert_allclose(
        actual, wanted.numpy(), rtol=0, atol=tolerance * scale, err_msg=f"{gradient}, the gradient of {name}"
    )


def dense(workspace: Workspace, gradient: Gradient, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient as an array: the rows of a sparse one are added up."""
    if isinstance(gradient, str):
        return workspace[gradient]
    total = np.zeros(shape)
    np.add.at(total, workspace[gradient.indices], workspace[gradient.values])
    return total


def assert_no_gradient(name: str, expected: Tensor | None) -> None:
    """The reference has no gradient of `name` either, or zeros."""
    assert expected is None or not expected.any(), f"{name} has a gradient, and the map has none of it"


def assert_nothing_is_passed_over(truth: Truth) -> None:
    """No gradient arrives where it could not pass: such a net has to be refused, or its gradients would be wrong."""
    for index, op in enumerate(truth.run.operators[truth.case.skip :], truth.case.skip):
        if op.type in WITHOUT_RULE or op.type in FIRST_OUTPUT_ONLY:
            ends = truth.run.writes[index][op.type in FIRST_OUTPUT_ONLY :]
            assert not truth.any_reached(ends), f"operator #{index} {op} should have been refused"
