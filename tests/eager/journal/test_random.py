"""Recordings of random define-by-run programs: the gradients of backward, nothing changed, ledgers that add up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from gradviz import debug
from gradviz.program.events import Ran
from tests.eager.journal.passes import gradients
from tests.eager.test_against_torch import programs, run
from tests.random_cases import counts


@counts(80)
@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_a_recording_has_the_gradients_of_backward_and_changes_none(schedule: str, count: int) -> None:
    @settings(max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck])
    @given(programs)
    def agrees(program: Any) -> None:
        check(program, schedule)

    agrees()


def check(program: Any, schedule: str) -> None:
    leaves, _, values, _ = run(program)
    loss = sum((value * 0.7).sum() for value in values if value.requires_grad)
    for number, leaf in enumerate(leaves):
        leaf.name = f"leaf{number}"
    leaves[0].grad = np.ones(leaves[0].shape)
    before = {leaf.name: None if leaf.grad is None else leaf.grad.copy() for leaf in leaves}
    session = debug(loss, schedule=schedule)
    for leaf in leaves:
        np.testing.assert_equal(leaf.grad, before[leaf.name])
    recorded = gradients(session)
    loss.backward(schedule=schedule)
    for leaf in leaves:
        if leaf.name in recorded:
            np.testing.assert_array_equal(recorded[leaf.name], leaf.grad)
        else:
            np.testing.assert_equal(leaf.grad, before[leaf.name])
    trace = session.trace()
    for ledger in trace.ledgers:
        shares = [one.share for one in ledger.contributions]
        if all(isinstance(share, float) for share in shares):
            assert sum(shares) == pytest.approx(1, abs=1e-6)
    for ran in (event for event in session.events if isinstance(event, Ran)):
        for name, version in zip(ran.op.outputs, ran.out_versions, strict=True):
            assert f"{name}@{version}" in trace.values or schedule == "tape"  # it leaves out what nobody wants
