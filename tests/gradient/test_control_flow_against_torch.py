"""Random programs with branches and loops: gradviz' gradients equal those of autograd over the same program in Python.

A failure prints the program, made as small as hypothesis could.
"""

from collections import Counter

import pytest
from hypothesis import assume, given, note, seed, settings

pytest.importorskip("torch", reason="the reference is PyTorch's autograd: pip install torch")

from gradviz import IR, GradientError
from gradviz.program.events import Completed, EnteredSubnet, LeftSubnet
from tests.gradient.programs.census import assert_rich, words
from tests.gradient.programs.growth import programs
from tests.gradient.programs.lowering import Lowered
from tests.gradient.programs.reference import Reference
from tests.gradient.programs.tree import Program
from tests.gradient.programs.verdict import is_within_reach, judged, starts
from tests.random_cases import counts

EXAMPLES = 400


@counts(EXAMPLES)
def test_gradients_are_those_of_autograd(count: int) -> None:
    census: Counter[str] = Counter()

    @seed(2)  # derandomized, the draw would be another one after each change of this test
    @settings(max_examples=count, deadline=None, database=None)
    @given(programs())
    def agrees(program: Program) -> None:
        note(str(program))
        reference, lowered = Reference(program), Lowered(program)
        assume(is_within_reach(reference))
        census.update([judged(program, reference, lowered), *words(program, reference, lowered)])

    agrees()
    if count == EXAMPLES:
        assert_rich(census, count)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(programs())
def test_a_pass_that_is_told_makes_the_same_operators_and_leaves_every_net_that_it_enters(program: Program) -> None:
    lowered = Lowered(program)
    ys, _ = starts(program, lowered)
    silent, told = IR(lowered.net.ops, lowered.skip), IR(lowered.net.ops, lowered.skip)
    refusal = None
    try:
        operators, gradients = silent.get_backward_pass(ys)
    except GradientError as error:
        refusal = error
    if refusal is not None:
        with pytest.raises(GradientError) as caught:
            list(told.backward_events(ys))
        assert caught.value.message == refusal.message
        return
    events = list(told.backward_events(ys))
    assert [op.outputs for op in told.gradient_ops] == [op.outputs for op in operators]
    assert events[-1] == Completed(gradients)
    inside: list[EnteredSubnet] = []
    for event in events:
        if isinstance(event, LeftSubnet):
            entered = inside.pop()
            assert (event.index, event.argument, event.path) == (entered.index, entered.argument, entered.path)
        assert event.path == tuple(f"{around.index}.{around.argument}" for around in inside)
        if isinstance(event, EnteredSubnet):
            inside.append(event)
    assert not inside
