"""Faults of people who train something of their own: before backward() and after it, with a capture and without."""

from contextlib import nullcontext, suppress

import pytest
import torch
import torch.nn.functional as F

import gradviz
from tests.bridges.torch.doctor import mistaken

FAULTS = {
    "computed_once": ("freed", "self.normed = ", "freed"),
    "computed_once_and_used_again": ("freed", "self.normed = ", "freed"),
    "looked_up_in_what_was_computed_once": ("freed", "self.table = ", "freed"),
    "lost_in_float16": ("underflow", "loss = (half.float()", "underflow"),
    "detached_on_the_way": ("detached", "mean = mean.detach()", "unused"),
    "adapted_without_gradients": ("no_grad", "h = body(", "unused"),
    "written_into_a_column": ("overwritten", "z[:, 0] = 0", "overwritten"),
    "distance_to_itself": ("nan", "loss = ((z[", "nan"),
    "repeated_layers_one_unused": ("unused", "", "unused"),
    "in_a_dict": ("module_list", "self.heads = ", "module_list"),
    "drawn_by_sample": ("no_grad", "z = torch.distributions", "unused"),
    "frozen_by_an_attribute": ("not_frozen", "", "not_frozen"),
    "frozen_by_a_misspelt_attribute": ("not_frozen", "", "not_frozen"),
}
"""Kind, the beginning of the line, and the kind that is known without a capture."""


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("oops")


class Doubles(Raises):
    @staticmethod
    def forward(ctx, x):
        return x * 2


def test_after_a_pass_that_has_failed_its_error_is_said_to_be_the_cause():
    model = torch.nn.Linear(3, 3)
    loss = torch.tanh(Raises.apply(torch.tanh(model(torch.randn(2, 3))))).sum()
    with suppress(ValueError):
        loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert found.kind == "freed"
    assert "A backward() that stops with an error has freed what it went through, too" in found.evidence[0]


def test_of_a_sum_of_losses_the_one_that_went_backward_is_named():
    model = torch.nn.Linear(3, 1)
    first, second = (model(torch.randn(2, 3)).square().mean() for _ in range(2))
    total = first + second
    first.backward()
    (found,) = gradviz.diagnose(total, model).findings
    assert (found.kind, found.names) == ("freed", ("first",))
    assert found.sentence.endswith("an earlier backward() has freed the part of the graph behind `first`.")


def test_what_two_losses_share_is_named_though_the_second_pass_has_freed_more():
    first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    with gradviz.torch.capture():
        fake = torch.tanh(first(torch.randn(2, 3)))
        second(fake).mean().backward()
        with pytest.raises(RuntimeError) as caught:
            second(fake).square().mean().backward()
    (found,) = gradviz.explain(caught.value).findings
    assert found.sentence.endswith("has freed the part of the graph behind `fake`.")


def test_methods_that_are_not_called_are_found():
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).square().mean()
        loss.backward  # noqa: B018
        optimizer.step  # noqa: B018
    found = gradviz.diagnose(loss, model).findings
    assert [(one.kind, one.line.text.partition("  #")[0]) for one in found] == [
        ("not_called", "loss.backward"),
        ("not_called", "optimizer.step"),
    ]
    assert found[1].sentence == (f"`step` is not called in {found[1].line}: without parentheses nothing happens there.")


def test_a_function_that_is_applied_without_gradients_reads_its_parameters():
    w, v = (torch.ones(2, requires_grad=True) for _ in range(2))
    model = torch.nn.ParameterList([w, v])
    with gradviz.torch.capture(model):
        with torch.no_grad():
            h = Doubles.apply(model[0])
        loss = (h * model[1]).sum()
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.names, found.line.text) == ("no_grad", ("0",), "h = Doubles.apply(model[0])")


def test_parameters_that_stand_for_those_of_the_model_are_named_without_a_capture():
    model = torch.nn.Linear(3, 1)
    fast = {name: one.detach().clone().requires_grad_() for name, one in model.named_parameters()}
    loss = torch.func.functional_call(model, fast, torch.randn(2, 3)).square().mean()
    (found,) = gradviz.diagnose(loss, model).findings
    assert found.kind == "not_connected"
    assert "from any of its parameters, but only from `fast[" in found.sentence
    assert {"`fast[weight]`", "`fast[bias]`"} <= {*found.sentence.replace(".", " ").split()}


def test_complex_parameters_are_measured_with_their_imaginary_parts():
    model = torch.nn.ParameterList([torch.full((2, 2), 3j)])
    (found,) = gradviz.diagnose((model[0].imag * 1e5).sum(), model).findings
    assert found.sentence == (
        "Gradients are huge: the typical element is 1.0e+05 in `0`, whose own elements are of 3.0e+00."
    )


@pytest.mark.parametrize("program", FAULTS)
@pytest.mark.parametrize("is_captured", [True, False])
@pytest.mark.parametrize("is_after", [False, True])
def test_a_mistake_is_found(program, is_captured, is_after, monkeypatch):
    torch.manual_seed(0)
    if not is_captured:
        monkeypatch.setattr(mistaken, "capture", lambda *models: nullcontext())
    loss, model = getattr(mistaken, program)()
    if is_after:
        with suppress(RuntimeError):  # what the fault lets fail
            loss.backward()
    first = gradviz.diagnose(loss, model).findings[0]
    kind, fragment, likely = FAULTS[program]
    assert (first.kind, first.harm) == (kind if is_captured else likely, True), first
    if is_captured and fragment:
        assert first.line.text.startswith(fragment)


@pytest.mark.parametrize(
    "loss_of",
    [
        lambda h: h.mean() + torch.log(h).mean(),
        lambda h: torch.log(h).sum().view(()),
        lambda h: (torch.log(h) + 1).square().mean(),
    ],
)
def test_an_infinity_that_comes_through_what_masks_go_through_is_born_where_it_was_made(loss_of):
    model = torch.nn.Linear(3, 3)
    found = gradviz.diagnose(loss_of(torch.relu(model(torch.ones(2, 3)) - 9)), model).findings[0]
    assert (found.kind, found.harm) == ("nan", True)
    assert "Inf: `log` makes NaN or Inf: log(0) is -Inf" in found.sentence


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_step_that_no_capture_saw_is_seen_by_one_that_goes_on_up_to_backward(is_inside):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        loss.mean().backward(retain_graph=True)
        optimizer.step()

    with gradviz.torch.capture(model):
        loss = model(torch.ones(2, 3)).square()
        if is_inside:
            step()
    if not is_inside:
        step()
    found = gradviz.diagnose(loss.sum(), model).findings[0]
    assert found.kind == "overwritten"
    assert (found.line is not None) is is_inside
    hint = "A capture that goes on up to backward() tells which line writes: with gradviz.torch.capture(): ..."
    assert list(found.evidence) == ([] if is_inside else [hint])


def test_an_operator_that_sends_something_too_is_not_said_to_send_only_zeros():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (found,) = gradviz.diagnose((torch.cat([x, y]) * torch.tensor([0.0, 0, 0, 1, 1, 1])).sum()).findings
    assert found.sentence.endswith("the backward of `cat` sends only zeros on the way to it.")


def test_of_two_ways_that_are_zero_the_one_that_says_why_is_told():
    w, h = torch.ones(2, 2, requires_grad=True), torch.zeros(1, 2)
    first = h @ w
    second = torch.tanh(first + 1) @ w
    (found,) = gradviz.diagnose(torch.cat([first, second])[0].sum()).findings
    assert "multiplies by `h` that is all zeros" in found.sentence


def test_a_switch_that_a_module_sets_itself_is_its_own_affair():
    class Flagged(torch.nn.Linear):
        def __init__(self):
            super().__init__(3, 3)
            self.requires_grad = False

    model = Flagged()
    assert not gradviz.diagnose(model(torch.ones(2, 3)).sum(), model).findings


@pytest.mark.parametrize("is_captured", [True, False])
def test_what_is_cut_off_in_a_compiled_model_is_not_said_to_be_of_a_backward_that_somebody_wrote(is_captured):
    class Cut(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.last(self.first(x).detach())

    model = Cut()
    compiled = torch.compile(model, backend="aot_eager")
    with gradviz.torch.capture(compiled) if is_captured else nullcontext():
        loss = compiled(torch.ones(2, 3)).sum()
    (found,) = gradviz.diagnose(loss, compiled).findings
    assert (found.kind, {*found.names}) == ("none_sent", {"first.weight", "first.bias"})
    assert "no gradient: what torch.compile() has made one operator of" in found.sentence
    assert "without torch.compile()" in found.ways_out[0]


def test_probabilities_without_their_logarithm_are_remarked():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Softmax(1))
    (found,) = gradviz.diagnose(torch.nn.functional.nll_loss(model(torch.ones(2, 3)), torch.tensor([0, 1]))).findings
    assert (found.kind, found.harm) == ("twice", False)
    assert "`nll_loss` takes logarithms, and is given what `softmax` returned" in found.sentence


@pytest.mark.parametrize(
    ("loss_of", "way_out"),
    [
        (lambda h: h[:, :1].std(1).sum(), "Say correction=0, or give more elements."),
        (lambda h: (h * 1e38).norm(), "Divide by something large first, or compute it in a wider type"),
    ],
)
def test_the_way_out_is_that_of_the_forward_pass_where_it_is_born_there(loss_of, way_out):
    model = torch.nn.Linear(3, 3)
    (found,) = gradviz.diagnose(loss_of(model(torch.ones(2, 3))), model).findings
    assert "It is born in the forward pass." in found.evidence
    assert [one.startswith(way_out) for one in found.ways_out] == [True]


def test_a_hook_of_a_leaf_that_nobody_can_name_is_of_that():
    def loss():
        w = torch.ones(2, 3, requires_grad=True)
        w.register_hook(lambda gradient: gradient * 2)
        return (w * 2).sum()

    (found,) = gradviz.diagnose(loss()).findings
    assert found.sentence.endswith("changes the gradient of a tensor of 2 × 3 float32.")


def test_what_is_drawn_from_a_distribution_is_to_be_drawn_by_rsample():
    (found,) = gradviz.diagnose(*mistaken.drawn_by_sample()).findings
    assert "`z`, which is computed from them, is drawn by `sample()`" in found.sentence
    assert "rsample()" in found.ways_out[0]
    assert not any("switched off" in one for one in found.evidence)


def test_a_parameter_of_another_model_has_the_name_that_the_capture_gives_it():
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(second.parameters(), 0.1)
    with gradviz.torch.capture():
        score = second(first(torch.ones(2, 3)))
        score.mean().backward(retain_graph=True)
        optimizer.step()
        loss = score.square().mean()
    found = gradviz.diagnose(loss, first).findings[0]
    assert (found.kind, found.names) == ("overwritten", ("second.weight",))


def test_parameters_in_a_list_are_to_be_in_a_list_of_parameters():
    class Listed(torch.nn.Linear):
        def __init__(self):
            super().__init__(3, 3)
            self.scales = [torch.nn.Parameter(torch.ones(3))]
            self.shifts = {"a": torch.ones(3, requires_grad=True)}

        def forward(self, x):
            return super().forward(x) * self.scales[0] + self.shifts["a"]

    model = Listed()
    found = {one.names[0]: one for one in gradviz.diagnose(model(torch.ones(2, 3)).sum(), model).findings}
    assert "a list of parameters is not looked into" in found["scales[0]"].sentence
    assert found["scales[0]"].ways_out[0] == "Write self.scales = nn.ParameterList(...)."
    assert found["shifts[a]"].ways_out[0] == "Write self.shifts = nn.ParameterDict(...)."


def test_gradients_that_are_off_before_a_capture_are_not_said_to_be_off_in_a_block_of_it():
    model = torch.nn.Linear(3, 3)
    torch.set_grad_enabled(False)
    with gradviz.torch.capture(model):
        loss = model(torch.ones(2, 3)).sum()
    torch.set_grad_enabled(True)
    (found,) = gradviz.diagnose(loss, model).findings
    assert found.kind == "no_grad"
    assert "while gradients are switched off, since before the capture, in test_mistakes.py:" in found.sentence
    assert "set_grad_enabled(False)" in found.ways_out[0]


def test_a_division_without_a_derivative_is_told_with_its_line():
    model = torch.nn.Linear(3, 3)
    with gradviz.torch.capture(model):
        h = model(torch.ones(2, 3)) // 1
    (found,) = gradviz.diagnose(h.sum(), model).findings
    assert (found.kind, found.line.text) == ("no_derivative", "h = model(torch.ones(2, 3)) // 1")
    assert found.ways_out == ("Use another one, or detach() what need not be trained.",)


def test_no_relu_is_said_to_make_an_infinity_that_it_was_given():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    torch.nn.init.constant_(model[0].weight, 3e38)
    found = gradviz.diagnose(model(torch.full((2, 3), 10.0)).square().mean(), model).findings[0]
    assert found.kind == "nan"
    assert "most likely `addmm` makes NaN or Inf: a product is beyond the largest number" in found.sentence


def test_a_product_that_overflows_is_found_behind_what_hands_it_on():
    w = torch.nn.Parameter(torch.ones(3))
    (found,) = gradviz.diagnose(torch.relu(((w + 1e30).mul(1e30)).view(1, 3)).sum()).findings
    assert "most likely `mul` makes NaN or Inf: a product is beyond the largest number" in found.sentence


def test_a_softmax_over_what_is_all_the_same_is_not_saturated():
    model = torch.nn.MultiheadAttention(4, 1)
    x = torch.ones(3, 1, 4)
    found = gradviz.diagnose(model(x, x, x)[0].square().mean(), model)
    assert found.is_healthy, str(found)
    assert "saturated" not in str(found)


def test_what_is_flat_is_why_a_gradient_is_zero_whatever_cuts_it_off_behind_that():
    model = torch.nn.Linear(3, 3)
    (found,) = gradviz.diagnose(torch.sigmoid(model(torch.ones(2, 3))).round().clamp(0.1, 0.9).sum(), model).findings
    assert found.sentence == (
        "`weight` and `bias` get a gradient of zeros: `round` is flat, its derivative is 0 everywhere."
    )


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize(
    ("loss_of", "why"),
    [
        (lambda a: torch.linalg.eigh(a)[1][:, 0].sum(), "`linalg_eigh`: eigenvectors of equal eigenvalues"),
        (lambda a: torch.linalg.svd(a)[0][:, 0].sum(), "`linalg_svd`: singular vectors of equal singular values"),
        (lambda a: torch.hypot(a[0, 1], a[1, 0]), "`hypot`: the derivative of hypot at (0, 0) does not exist"),
        (lambda a: torch.xlogy(a, a).sum(), "`xlogy`: its derivative is infinite or NaN where"),
        (lambda a: torch.acosh(a.diagonal()).sum(), "`acosh`: the derivative of acosh at 1 is infinite"),
    ],
)
def test_where_a_derivative_does_not_exist_is_told_and_no_mask_is_blamed(loss_of, why, is_after):
    w = torch.nn.Parameter(torch.zeros(3, 3))
    loss = loss_of(torch.eye(3) + w + w.T)
    if is_after:
        loss.backward()
    (found,) = gradviz.diagnose(loss).findings
    assert f"born in the backward of {why}" in found.sentence
    assert "leaves those elements out" not in found.sentence
    assert len(found.ways_out) == 1


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize(
    ("loss_of", "why"),
    [
        (lambda w: torch.logit(w).sum(), "`logit` makes NaN or Inf: logit of 0 or 1 is infinite"),
        (lambda w: torch.erfinv(w).sum() + 1, "`erfinv` makes NaN or Inf: erfinv of 1 or -1 is infinite"),
        (lambda w: torch.logdet(w + 0), "`linalg_slogdet` makes NaN or Inf: the logarithm of a determinant of 0"),
        (lambda w: F.ctc_loss(w[:, None], torch.ones(1, 2), [2], [2]), "`ctc_loss`"),
    ],
)
def test_what_makes_an_infinity_is_named_and_not_what_hands_it_on(loss_of, why, is_after):
    w = torch.nn.Parameter(torch.ones(2, 2))
    loss = loss_of(w)
    if is_after:
        loss.backward()
    found = gradviz.diagnose(loss).findings[0]
    assert why in found.sentence, found
