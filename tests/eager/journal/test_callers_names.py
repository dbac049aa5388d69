"""The caller's variables in recordings: what blobs are called that nobody gave a name."""

from types import SimpleNamespace

import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz import Variable

SCHEDULES = pytest.mark.parametrize("schedule", ["rank", "tape"])


def outputs(y, schedule="rank"):
    """What the functions that led to y returned, as a recording calls it."""
    return [line.outputs[0] for line in gradviz.debug(y, schedule=schedule).trace().forward]


def leaf():
    return Variable(np.float64(2), name="x")


@SCHEDULES
def test_a_blob_is_called_as_the_variable_that_the_call_is_stored_in(schedule):
    logits = leaf()
    counts = F.exp(logits)
    total = F.sum(counts)
    assert outputs(counts / total, schedule) == ["counts@0", "total@0", "div@0"]
    assert counts.name is None


@SCHEDULES
def test_what_is_stored_in_the_same_variable_again_has_a_number(schedule):
    h = leaf()
    for _ in range(3):
        h = F.tanh(h)
    h += h
    assert outputs(h, schedule) == ["h@0", "h_1@0", "h_2@0", "h_3@0"]


def test_a_name_that_was_given_comes_first_and_is_not_taken_from_another_one():
    a = F.exp(leaf())
    y = F.tanh(leaf())
    y = F.sin(y)
    y.name, a.name = "wave", "given"
    given = F.cos(y + a)
    assert outputs(given) == ["given@0", "y@0", "wave@0", "add@0", "given_1@0"]


def test_an_attribute_is_as_good_as_a_variable():
    model = SimpleNamespace()
    model.hidden = F.tanh(leaf())
    model.inner = SimpleNamespace()
    model.inner.y = F.sum(model.hidden)
    assert outputs(model.inner.y) == ["hidden@0", "reducesum@0"]


def test_of_a_call_that_applies_several_functions_the_last_one_has_the_name():
    bits = F.log2(leaf())
    assert outputs(bits) == ["log@0", "bits@0"]


def test_of_several_outputs_only_those_that_were_handed_out_are_called_so():
    spread = F.var(leaf())
    (line,) = gradviz.debug(spread).trace().forward
    assert line.outputs == ["moments@0", "spread@0"]


def test_names_and_lines_of_long_code_are_known_to_its_end():
    count = 400  # a variable beyond the first 256 takes another instruction
    chain = "\n".join(f"a{number + 1} = F.tanh(a{number})" for number in range(count))
    scope = {"F": F, "a0": leaf()}
    exec(compile(chain, "chain.py", "exec"), scope)
    forward = gradviz.debug(scope[f"a{count}"]).trace().forward
    assert [line.outputs[0] for line in forward] == [f"a{number + 1}@0" for number in range(count)]
    assert [line.code.number for line in forward] == [number + 1 for number in range(count)]


def test_what_a_function_returns_at_once_keeps_the_name_of_its_operator():
    def squashed(x):
        return F.tanh(x)

    y = squashed(leaf())
    assert outputs(y) == ["tanh@0"]


def test_gradients_are_called_after_them_and_targets_find_them():
    counts = F.exp(leaf())
    session = gradviz.debug(F.sum(counts * counts))
    session.run_to("counts_grad")
    assert "counts_grad" in str(session.event)
    np.testing.assert_array_equal(session.value("counts@0"), counts.data)
