"""Errors of PyTorch in the words of the doctor."""

import inspect
import sys
from contextlib import nullcontext

import pytest
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.doctor import raising
from tests.bridges.torch.doctor.faulty import Two, data

ERRORS = {
    "overwritten": ("overwritten", "`h` is overwritten after `sigmoid`"),
    "overwritten_in_a_capture": ("overwritten", "by `add_()` in raising.py"),
    "no_graph": ("not_connected", "`loss` requires no gradient"),
    "no_graph_in_a_capture": ("integer", "chosen by `argmax()`"),
    "twice": ("freed", "a second time"),
    "twice_in_a_capture": ("freed", "has freed the graph"),
    "leaf_in_place": ("leaf_in_place", "`w` is a leaf"),
    "parameter_in_place": ("leaf_in_place", "`model.encoder.weight` is a leaf"),
    "integers": ("integer", "`index` is a tensor of integers"),
    "integers_at_once": ("integer", "only floating-point numbers"),
    "not_scalar": ("not_scalar", "`out` has 15 elements"),
    "once": ("double_backward", "`Once`"),
    "unused_input": ("unused_input", "`y` was not used"),
    "input_without_gradient": ("not_connected", "`x` requires no gradient"),
    "wrong_shape": ("shape", "The backward of `Wrong`"),
    "gradient_of_another_shape": ("shape", "The gradient that a backward pass is to start with"),
    "gradient_of_another_dtype": ("shape", "is not like the tensor that it is of"),
    "wrong_count": ("shape", "returns 1 gradient, and forward has 2 inputs"),
    "overwritten_by_a_step": ("overwritten", "most likely by an optimizer's step()"),
    "carried_on_unseen": ("freed", "an earlier backward() has freed the graph"),
    "carried_on": ("freed", "has freed the part of the graph behind `state`"),
    "wrong_dtype": ("dtype", "different types"),
    "none_of_a_rebuilt_leaf": ("rebuilt", "`w` is no leaf any more"),
    "none_after_a_cast": ("non_leaf", "`w` is no leaf"),
    "array_of_a_gradient": ("detached", "arrays have no history"),
    "array_of_a_variable": ("detached", "`out` requires a gradient, and an array is asked of it"),
    "learnt_from_predictions": ("no_grad", "`h` was computed under torch.inference_mode()"),
    "no_leaf_for_an_optimizer": ("non_leaf", "A leaf is wanted"),
    "part_of_a_leaf": ("leaf_in_place", "`w` is a leaf"),
    "backward_of_a_number": ("detached", "backward() is asked of what is no tensor"),
    "backward_of_a_sum_of_numbers": ("detached", "left PyTorch by `item()`"),
    "zeros_of_none": ("unused", "no backward() has come to it"),
    "no_parameters": ("module_list", "`layers`"),
    "backward_of_a_function": ("fails", "`Bare.backward` (raising.py"),
    "in_a_hook": ("fails", "`refuse` (raising.py"),
    "another_size_from_a_hook": ("hook", "gives back what cannot be a gradient"),
    "copied": ("non_leaf", "copies leaves alone"),
    "none_of_a_result": ("non_leaf", "it is no leaf"),
    "part_written_into": ("view_in_place", "`part` is written into"),
    "part_of_what_was_written_into": ("view_in_place", "`rest` cannot be used"),
    "part_behind_a_checkpoint": ("reentrant_checkpoint", "a reentrant checkpoint on the way"),
}


def raised(program):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        getattr(raising, program)()
    return caught.value


def line_of(program):
    sources = [inspect.getsource(getattr(raising, program))]
    functions = (raising.Wrong, raising.Bare)
    sources += [inspect.getsource(one) for one in functions if f"{one.__name__}.apply" in sources[0]]
    lines = [line.strip() for source in sources for line in source.splitlines()]
    return next((line for line in lines if line.endswith("# here")), None)


@pytest.mark.parametrize("program", ERRORS)
def test_an_error_is_explained(program):
    kind, words = ERRORS[program]
    found = gradviz.explain(raised(program))
    first = found.findings[0]
    assert (first.kind, first.harm) == (kind, True), str(found)
    assert words in first.sentence
    assert first.ways_out or kind == "fails"
    if (line := line_of(program)) is not None:
        assert first.line.text == line


def test_what_is_no_error_is_refused():
    with pytest.raises(TypeError, match="explain takes an exception, and not str"):
        gradviz.explain("element 0 of tensors does not require grad")


def test_what_was_carried_on_is_told_with_the_line_that_made_it():
    (found,) = gradviz.explain(raised("carried_on")).findings
    assert any(one.endswith(": self.state = self.cell(x, self.state)") for one in found.evidence)


@pytest.mark.parametrize("program", ["carried_on", "carried_on_unseen"])
def test_to_detach_what_was_carried_on_is_the_first_way_out(program):
    (found,) = gradviz.explain(raised(program)).findings
    assert (
        found.ways_out[0] == "What an earlier pass has left, such as a hidden state, detach() before it is read again."
    )


@pytest.mark.parametrize("program", ["shapes_that_do_not_fit", "types_that_do_not_fit", "a_key"])
def test_other_errors_are_said_to_be_others(program):
    error = raised(program)
    found = gradviz.explain(error)
    assert found.findings == []
    assert str(found).startswith("This is no error about gradients that gradviz knows. ")
    assert str(error) in str(found)


def test_errors_of_gradviz_are_told_as_they_are():
    net = gradviz.Net("overwritten")
    net.Mul(["t", "w"], "t")
    with pytest.raises(gradviz.GradientError) as caught:
        net.add_gradient_operators(["t"])
    assert str(gradviz.explain(caught.value)) == f"This error is gradviz's own. {caught.value}"


def test_an_error_without_words_is_named():
    found = gradviz.explain(KeyboardInterrupt())
    assert str(found) == "This is no error about gradients that gradviz knows. KeyboardInterrupt."


def test_the_last_error_is_taken(monkeypatch):
    monkeypatch.setattr(sys, "last_value", raised("twice"), raising=False)
    assert gradviz.explain().findings[0].kind == "freed"


def test_without_an_error_that_is_said(monkeypatch):
    monkeypatch.delattr(sys, "last_value", raising=False)
    monkeypatch.delattr(sys, "last_exc", raising=False)
    assert str(gradviz.explain()) == "There is no error to explain: nothing was raised, or it was caught."


def second_pass(*, captured):
    """A loss that was gone backward from; a second pass raises."""
    x, y = data()
    model = Two()
    with gradviz.torch.capture(model) if captured else nullcontext():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    return loss, model


@pytest.mark.parametrize("captured", [False, True])
def test_a_pass_that_has_failed_the_second_time_is_diagnosed(captured, monkeypatch):
    loss, model = second_pass(captured=captured)
    said = str(gradviz.diagnose(loss, model))
    assert said.startswith("Nothing is wrong: ")
    assert said.endswith("another one needs retain_graph=True in the first, or the loss computed again.")
    try:
        loss.backward()
    except RuntimeError as error:
        (found,) = gradviz.diagnose(loss, model).findings
        assert (found.kind, found.harm) == ("freed", True)
        assert "loss.backward()" in found.line.text
        assert "has freed the graph" in found.sentence
        monkeypatch.setattr(sys, "last_value", error, raising=False)
    assert not gradviz.diagnose(loss, model).is_healthy  # in the next cell of a notebook
    assert gradviz.diagnose(*second_pass(captured=captured)).is_healthy
