"""Programs with a fault each: the doctor names it, its line and the parameters."""

import copy
import inspect
from contextlib import nullcontext

import pytest
import torch
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.doctor import faulty, raising, spelled, spelled_too, spoiled

ENCODER = ("encoder.weight", "encoder.bias")
ALL = ("encoder.weight", "encoder.bias", "head.weight", "head.bias")

FAULTS = {
    "overwritten": ("overwritten", "`h` is overwritten by `add_()`", ("h",)),
    "overwritten_through_data": ("overwritten", "which PyTorch does not notice", ("h",)),
    "overwritten_part": ("overwritten", "an assignment to a part of it", ("h",)),
    "overwritten_by_a_step": ("overwritten", "by the optimizer's `step()`", ("head.weight",)),
    "overwritten_by_an_inplace_module": ("overwritten", "after `tanh`", ("h",)),
    "unused": ("unused", "no call of the forward pass reads them", ("extra.weight", "extra.bias")),
    "unused_result": ("unused", "not used for the loss", ("extra.weight", "extra.bias")),
    "not_a_leaf": ("non_leaf", "computed by `to`", ("w",)),
    "scaled_after_requires_grad": ("non_leaf", "computed by `mul`", ("w",)),
    "rebuilt": ("rebuilt", "no leaf any more", ("w",)),
    "rebuilt_without_gradients": ("rebuilt", "rebuilt from its old value", ("w",)),
    "no_grad": ("no_grad", "`h`, which is computed from them, is computed under torch.no_grad()", ENCODER),
    "checkpoint_of_data": ("no_grad", "in a reentrant checkpoint", ENCODER),
    "inference_mode": ("no_grad", "torch.inference_mode()", ENCODER),
    "detached": ("detached", "cut off by `detach()`", ENCODER),
    "detached_by_data": ("detached", "cut off by `.data`", ENCODER),
    "detached_by_numpy": ("detached", "leaves PyTorch as plain numbers by `numpy()`", ENCODER),
    "detached_by_item": ("detached", "by `item()`", ENCODER),
    "detached_by_a_list": ("detached", "by `tolist()`", ENCODER),
    "cast_to_integers": ("integer", "cast to integers or booleans by `long()`", ENCODER),
    "argmax": ("integer", "chosen by `argmax()`", ENCODER),
    "compared": ("integer", "comes from a comparison", ENCODER),
    "loss_is_a_number": ("detached", "The loss is no tensor but a float", ()),
    "loss_is_accuracy": ("integer", "`loss` requires no gradient", ALL),
    "loss_is_rebuilt": ("detached", "a new tensor that `tensor()` makes of the numbers alone", ALL),
    "loss_under_no_grad": ("no_grad", "torch.no_grad()", ALL),
    "loss_of_something_else": ("not_connected", "another one, a `Two`", ALL),
    "all_frozen": ("frozen", "All 4 parameters of the model are frozen", ALL),
    "rounded": ("zero", "`round` in spoiled.py", ENCODER),
    "clamped": ("zero", "cuts every element off", ENCODER),
    "dead_relu": ("zero", "a dead ReLU", ("head.weight", *ENCODER)),
    "softmax_of_one": ("zero", "of one element", ENCODER),
    "masked_sqrt": ("nan", "born in the backward of `sqrt`", ("x",)),
    "masked_log": ("nan", "though `where`", ("x",)),
    "divided_by_zero": ("nan", "divided by 0", ALL),
    "exp_overflows": ("nan", "`exp` makes Inf", ALL),
    "bad_data": ("nan", "because `x`", ("x", *ALL)),
    "spoiled_parameter": ("nan", "because `head.bias` holds NaN", ("head.bias",)),
    "float16_underflow": ("underflow", "below 6e-8 float16 has only 0", ENCODER),
    "float16_overflow": ("overflow", "overflows float16", ALL),
    "freed": ("freed", "has freed the part of the graph behind `h`", ("h",)),
    "plain_tensor": ("plain_tensor", "`scale` requires a gradient but is no parameter", ("scale",)),
    "module_list": ("module_list", "a list of modules is not looked into", ("layers",)),
    "tied_by_data": ("tied_by_data", "share their memory but are not tied", ("head.weight", "words.weight")),
    "no_zero_grad": ("doubled", "there was no zero_grad()", ALL),
    "no_zero_grad_after_backward": ("doubled", "there was no zero_grad()", ALL),
    "vanishing": ("vanishing", "Gradients vanish", ("layers.0.weight",)),
    "exploding": ("exploding", "Gradients are huge", ("head.weight",)),
    "once_differentiable": ("double_backward", "the backward of `Once`", ()),
    "no_create_graph": ("double_backward", "create_graph=True", ALL),
    "function_returns_none": ("none_sent", "returns None for it", ("scale",)),
    "late": ("frozen", "required no gradient yet", ("encoder.weight",)),
    "several_elements": ("not_scalar", "`loss` has 5 elements", ("loss",)),
}


PROGRAMS = {**vars(spoiled), **vars(faulty)}


SPELLED = {
    "inplace_no_capture": ("overwritten", ""),
    "inplace_custom_function": ("overwritten", "h.zero_()"),
    "inplace_buffer": ("overwritten", "m.scale.mul_(0.9)"),
    "inplace_weight_between": ("overwritten", "m.fc3.weight.clamp_(-1, 1)"),
    "inplace_copy_data": ("overwritten", "m.fc2.weight.data.copy_(torch.zeros(8, 8"),
    "inplace_loop_rnn_state": ("overwritten", "states[t] = cell(x, states[t - 1])"),
    "inplace_relu_after_sigmoid": ("overwritten", "loss = F.cross_entropy(m(x), y)"),
    "inplace_plus_equals_residual": ("overwritten", "r += h"),
    "decorator_no_grad": ("no_grad", "return self.fc3(self.fc2(self.embed(x)))"),
    "set_grad_enabled_off": ("no_grad", "loss = F.cross_entropy(m(x), y)"),
    "item_scale_only": ("detached", "return super().forward(x) / self.temp.it"),
    "param_data_use": ("detached", "return self.fc3(torch.relu(F.linear(torc"),
    "detach_in_closure": ("detached", "return t.detach()"),
    "detach_in_loop": ("detached", "h = cell(e, h).detach()"),
    "clone_detach_requires": ("detached", "h = h.clone().detach().requires_grad_(Tr"),
    "torch_tensor_copy": ("detached", "h = torch.tensor(m.fc1(x))"),
    "round_ste_missing": ("zero", "h = torch.floor(h * 10) / 10"),
    "sign_act": ("zero", "return self.fc3(torch.sign(self.fc2(torc"),
    "sign_no_capture": ("zero", ""),
    "sign_after_backward": ("zero", "return self.fc3(torch.sign(self.fc2(torc"),
    "relu_on_output": ("zero", "return torch.relu(self.fc3(self.fc2(self"),
    "clamp_loss": ("zero", "loss = F.cross_entropy(m(x), y).clamp(ma"),
    "argmax_embed": ("integer", "i = torch.argmax(self.fc1(x), -1)"),
    "onehot_argmax": ("integer", "hard = F.one_hot(p.argmax(-1), 8).float("),
    "topk_indices": ("integer", "_v, i = p.topk(2)"),
    "threshold_metric_loss": ("integer", "pred = (p > 0.5).float()"),
    "numpy_loss": ("detached", "p = m(x).detach().numpy()"),
    "unused_branch": ("unused", ""),
    "overwritten_variable": ("unused", "self.fc2(h)"),
    "unused_no_capture": ("unused", ""),
    "nan_norm_zero_div": ("nan", "loss = (x / x.norm(dim=1, keepdim=True))"),
    "nan_masked_div": ("nan", "r = 1 / x"),
    "nan_masked_mul": ("nan", "r = torch.sqrt(x)"),
    "nan_pow": ("nan", "r = x**0.5"),
    "nan_dist": ("nan", "d = torch.sqrt(((x[:, None] - x[None]) *"),
    "nan_log_softmax_masked": ("nan", "p = s.softmax(-1)"),
    "nan_bce": ("nan", "loss = -(torch.log(p) + torch.log(1 - p)"),
    "half_overflow": ("overflow", "loss = (h * h).sum()"),
    "var_one": ("nan", "loss = m(torch.randn(1, 6)).var(0).sum()"),
    "manual_no_zero": ("doubled", "w -= 0.1 * w.grad"),
    "manual_data_no_zero": ("doubled", "w.data.sub_(0.1 * w.grad)"),
    "zero_wrong_place": ("doubled", "o.step()"),
    "zero_other_optimizer": ("doubled", "o.step()"),
    "step_between": ("overwritten", "o.step()"),
    "hidden_state_carried": ("freed", "loss.backward()"),
    "twice_losses": ("freed", "a.backward()"),
    "dict_modules": ("module_list", 'self.parts = {"a": nn.Linear(6, 6), "b":'),
    "nested_list": ("module_list", "self.blocks = [[nn.Linear(6, 6)], [nn.Li"),
    "tensor_not_param": ("plain_tensor", "self.alpha = torch.tensor(0.5, requires_"),
    "param_to": ("plain_tensor", "self.alpha = nn.Parameter(torch.tensor(0"),
    "param_scaled": ("plain_tensor", "self.w = nn.Parameter(torch.randn(8, 8))"),
    "param_list": ("plain_tensor", "self.ws = [nn.Parameter(torch.randn(3)) "),
    "tied_parameter_new": ("tied_by_data", ""),
    "tied_transposed": ("tied_by_data", "self.d.weight.data = self.e.weight.data."),
    "buffer_grad": ("plain_tensor", ""),
    "lambda_hidden": ("module_list", "self.post = lambda z: lin(z)"),
    "property_module": ("module_list", "return self.lin(x)"),
    "hook_nan": ("nan", "m.fc1.weight.register_hook(lambda g: g /"),
    "gp_no_create": ("double_backward", "g = torch.autograd.grad(out.sum(), x)[0]"),
    "numpy_function": ("double_backward", "(g,) = torch.autograd.grad(E.apply(x).su"),
    "losses_in_a_new_tensor": ("detached", "loss = torch.tensor(losses"),
    "weights_written_through_data": ("detached", "weight.data = made"),
    "weights_copied_without_gradients": ("no_grad", "weight.copy_(made)"),
    "mean_of_an_empty_class": ("nan", "means = torch.stack("),
    "attention_of_an_empty_row": ("nan", "p = s.softmax(-1)"),
    "layer_made_in_forward": ("module_list", "extra = nn.Linear(3, 3)"),
    "norm_of_single_features": ("zero", "h = self.norm("),
    "loss_of_the_input": ("not_connected", "loss = F.cross_entropy(x[:, :3], y)"),
    "another_model_called": ("not_connected", "loss = F.cross_entropy(frozen(x), y)"),
    "head_replaced": ("replaced", ""),
}
"""Kind, and the beginning of the line; empty: it is not known."""


def line_of(program):
    """The line of a program, or of what it is made of, that ends with the mark."""
    classes = {name: value for name, value in PROGRAMS.items() if inspect.isclass(value)}
    used = [one for name, one in classes.items() if f"{name}(" in inspect.getsource(program).partition("\n")[2]]
    lines = [line.strip() for one in (program, *used) for line in inspect.getsource(one).splitlines()]
    return next((line for line in lines if line.endswith("# here")), None)


@pytest.mark.parametrize("program", FAULTS)
def test_a_fault_is_named_with_its_line(program):
    kind, words, names = FAULTS[program]
    found = gradviz.diagnose(*PROGRAMS[program]())
    first = found.findings[0]
    assert (first.kind, first.harm) == (kind, True), str(found)
    assert words in first.sentence
    assert set(names) <= set(first.names)
    line = line_of(PROGRAMS[program])
    if line is not None and program not in ("float16_underflow", "bad_data"):
        assert first.line is not None
        assert first.line.text == line


def test_every_program_is_in_the_table():
    assert {*programs_of(faulty), *programs_of(spoiled)} - {"data", "changed_by_a_hook"} == set(FAULTS)
    assert {*programs_of(spelled), *programs_of(spelled_too)} - {"xy"} == set(SPELLED)


def programs_of(module):
    """The functions of a module that can be called without arguments."""
    own = {name: one for name, one in vars(module).items() if inspect.isfunction(one)}
    return [
        name
        for name, one in own.items()
        if one.__module__ == module.__name__
        and all(each.default is not each.empty for each in inspect.signature(one).parameters.values())
    ]


@pytest.mark.parametrize("program", SPELLED)
def test_a_fault_is_found_in_other_spellings(program):
    kind, fragment = SPELLED[program]
    found = gradviz.diagnose(*{**vars(spelled), **vars(spelled_too)}[program]())
    first = found.findings[0]
    assert (first.kind, first.harm) == (kind, True), str(found)
    assert (first.line is None) == (not fragment)
    if fragment:
        assert fragment in first.line.text


def test_a_hook_that_changes_a_gradient_is_a_remark():
    found = gradviz.diagnose(*faulty.changed_by_a_hook())
    (hook,) = found.findings
    assert (hook.kind, hook.harm, hook.names) == ("hook", False, ("encoder.weight",))
    assert "register_hook" in hook.line.text
    assert found.is_healthy


def cut_in_place(gradient):
    gradient.clamp_(-1e-9, 1e-9)


def test_a_hook_that_writes_into_a_gradient_is_a_remark():
    model = faulty.Two()
    model.head.weight.register_hook(cut_in_place)
    model.encoder.weight.register_hook(lambda gradient: print(gradient.norm()))
    loss, _ = faulty.run(model)
    (hook,) = gradviz.diagnose(loss, model).findings
    assert (hook.harm, hook.names, hook.line.text) == (False, ("head.weight",), "def cut_in_place(gradient):")
    assert hook.sentence.endswith("changes the gradient of `head.weight` in place.")


@pytest.mark.parametrize("program", ["detached", "no_grad", "unused", "argmax"])
def test_without_a_capture_less_is_said_and_nothing_wrong(program, monkeypatch):
    monkeypatch.setattr(faulty, "capture", lambda *models: nullcontext())
    found = gradviz.diagnose(*getattr(faulty, program)())
    first = found.findings[0]
    assert (first.kind, first.line) == ("unused", None)
    assert "gradviz.torch.capture" in str(found)


def test_what_is_said_is_text_and_html():
    found = gradviz.diagnose(*faulty.detached())
    first = found.findings[0]
    assert str(found).startswith(f"{first.sentence}\n  - faulty.py:{first.line.number}: return h.detach()")
    assert "The 2 parameters of <code>encoder</code> get no gradient" in found._repr_html_()
    assert f"<ul><li>faulty.py:{first.line.number}: return h.detach()" in found._repr_html_()
    assert found.to_dict()["findings"][0]["kind"] == "detached"


def test_a_finding_has_the_recorded_pass_behind_it():
    found = gradviz.diagnose(*spoiled.rounded())
    assert "encoder.weight_grad" in {name for op in found.session.net.ops for name in op.outputs}


SHOWN = {"rounded": "RuleApplied", "masked_sqrt": "RuleApplied", "exp_overflows": "Played", "overwritten": "Failed"}


@pytest.mark.parametrize("program", SHOWN)
def test_the_session_opens_at_the_event_that_shows_the_finding(program):
    found = gradviz.diagnose(*PROGRAMS[program]())
    (position,) = found.findings[0].positions
    assert found.session.position == position
    assert type(found.session.event).__name__ == SHOWN[program]
    assert f"Event {position} of the recorded pass shows it: `diagnosis.session.run_to({position})`." in str(found)


class Without(faulty.Two):
    def forward(self, x):
        return self.head(torch.heaviside(self.encoder(x), torch.zeros(())))


def test_what_a_backward_pass_would_raise_is_told_before_it():
    (finding,) = gradviz.diagnose(*faulty.run(Without())).findings
    assert (finding.kind, finding.line.text) == ("no_derivative", inspect.getsource(Without).splitlines()[2].strip())
    x = torch.randn(4, 3, requires_grad=True)
    (finding,) = gradviz.diagnose((raising.Wrong.apply(x) * 2).sum()).findings
    assert (finding.kind, finding.line.text) == ("shape", "def backward(ctx, grad):  # here")


def test_what_is_no_loss_is_refused():
    with pytest.raises(TypeError, match="empty"):
        gradviz.diagnose([])


def test_what_is_no_module_is_refused():
    loss, _ = faulty.detached()
    with pytest.raises(TypeError, match="int is none"):
        gradviz.diagnose(torch.tensor(1.0), 3)
    with pytest.raises(TypeError, match="str is none"):
        gradviz.diagnose(loss, "model")
    with pytest.raises(TypeError, match="Tensor is none"):
        gradviz.diagnose(torch.nn.Linear(1, 1), torch.ones(()))


@pytest.mark.parametrize(
    ("normalized", "loss"),
    [(torch.softmax, F.cross_entropy), (lambda x, _: torch.sigmoid(x), F.binary_cross_entropy_with_logits)],
)
def test_probabilities_where_logits_are_wanted_are_a_remark(normalized, loss):
    model, (x, _) = faulty.Two(), faulty.data()
    with gradviz.torch.capture(model):
        probabilities = normalized(model(x), -1)
        value = loss(probabilities, torch.ones(5, 3) / 3)
    (found,) = gradviz.diagnose(value, model).findings
    assert (found.kind, found.harm) == ("twice", False)
    assert found.sentence.startswith(f"`{loss.__name__}` in test_faults.py:{found.line.number} takes logits")
    assert found.line.text == "value = loss(probabilities, torch.ones(5, 3) / 3)"


@pytest.mark.parametrize("is_after", [False, True])
def test_a_square_is_beyond_the_largest_number_and_of_no_number_it_does_not_exist(is_after):
    model = torch.nn.Linear(4, 3)
    with gradviz.torch.capture(model):
        loss = (model(torch.ones(2, 4)) * 1e30).square().mean()
    if is_after:
        loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert "makes NaN or Inf" in found.sentence
    assert "a power is beyond the largest number" in found.sentence
    assert "away from 0" not in str(found.ways_out)


def test_after_a_pass_no_square_is_said_to_have_made_a_nan():
    model = torch.nn.MultiheadAttention(4, 1)
    with gradviz.torch.capture(model):
        x = torch.ones(3, 1, 4)
        loss = model(x, x, x, key_padding_mask=torch.ones(1, 3, dtype=torch.bool))[0].square().mean()
    loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert found.sentence.startswith("The loss is NaN; where that was born is not known any more.")


def zeroed(gradient):
    return gradient * 0


@pytest.mark.parametrize("is_after", [False, True])
def test_a_hook_that_makes_gradients_zero_is_told_before_and_after(is_after):
    model, (x, y) = faulty.Two(), faulty.data()
    with gradviz.torch.capture(model):
        h = model.encoder(x)
        h.register_hook(zeroed)
        loss = F.cross_entropy(model.head(h), y)
    if is_after:
        loss.backward()
    zero, hook = gradviz.diagnose(loss, model).findings
    assert (zero.kind, zero.harm, set(zero.names)) == ("zero", False, set(ENCODER))
    assert ("why is not known" if is_after else "a hook `zeroed` (test_faults.py:") in zero.sentence
    assert (hook.kind, hook.names, hook.line.text) == ("hook", ("h",), "def zeroed(gradient):")


@pytest.mark.parametrize("kind", ["nan", "zero"])
def test_a_hook_is_told_from_a_sum_where_a_tensor_is_read_twice(kind):
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    h.register_hook(zeroed if kind == "zero" else lambda gradient: gradient / 0)
    first = gradviz.diagnose([(h * 3).sum() + h.exp().sum(), h.sum()]).findings[0]
    said = "a hook `zeroed` (test_faults.py:" if kind == "zero" else "A hook makes a gradient that is not finite"
    assert first.kind == kind
    assert said in first.sentence


def test_a_loss_that_is_a_part_of_another_one_has_no_hook():
    model, (x, _) = faulty.Two(), faulty.data()
    part = model(x).square().mean()
    assert not gradviz.diagnose([model(x).sum() + part, part], model).findings


@pytest.mark.parametrize("dead", [0, 2, 4])
def test_after_a_pass_the_relu_that_may_be_dead_is_one_that_gradients_of_zeros_came_through(dead):
    layers = [torch.nn.Linear(6, 6), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, *copy.deepcopy(layers), *copy.deepcopy(layers), torch.nn.Linear(6, 3))
    torch.nn.init.constant_(model[dead].bias, -100)
    with gradviz.torch.capture(model):
        loss = model(torch.rand(4, 6)).sum()
    loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    assert f"most likely `relu` in `{dead + 1}`" in found.sentence
    assert {f"{dead}.weight", f"{dead}.bias"} <= set(found.names)


def test_where_gradients_came_through_no_relu_is_dead():
    model = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
    torch.nn.init.ones_(model[1].bias)
    with gradviz.torch.capture(model):
        loss = model(torch.zeros(4, 6)).square().sum()  # no data: weights get zeros, and biases do not
    loss.backward()
    assert gradviz.diagnose(loss, model).is_healthy


class Cut(faulty.Two):
    def forward(self, x):
        return self.head(torch.relu(self.encoder(x)))


@pytest.mark.parametrize("kind", [faulty.Two, Cut])
def test_all_that_is_zero_in_a_layer_is_told(kind):
    model = kind()
    for one in model.parameters():
        torch.nn.init.zeros_(one)
    loss, _ = faulty.run(model)
    (found,) = gradviz.diagnose(loss, model).findings
    assert found.harm
    assert found.sentence.endswith("`encoder.weight` are all zeros, and so is what is computed with them.")


class Growing(faulty.Two):
    def forward(self, x):
        return torch.nn.Linear(3, 3)(super().forward(x))


@pytest.mark.parametrize("is_captured", [True, False])
def test_a_layer_that_forward_makes_is_harm_if_a_capture_has_seen_that(is_captured):
    model, (x, y) = Growing(), faulty.data()
    with gradviz.torch.capture(model) if is_captured else nullcontext():
        loss = F.cross_entropy(model(x), y)
    (found,) = gradviz.diagnose(loss, model).findings
    assert (found.kind, found.harm) == ("module_list", is_captured)
    assert found.sentence.startswith("Gradients go to 2 parameters that nobody holds any more")


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad)


def test_a_function_is_called_as_its_class_and_shown_by_its_backward():
    model, (x, y) = faulty.Two(), faulty.data()
    with gradviz.torch.capture(model):
        loss = F.cross_entropy(model.head(Clip.apply(model.encoder(x))), y)
    (found,) = gradviz.diagnose(loss, model).findings
    assert "the backward of `Clip` sends only zeros" in found.sentence
    assert found.line.text == "def backward(ctx, grad):"


def test_what_a_loop_does_again_is_told_once():
    model = torch.nn.Linear(4, 4)
    with gradviz.torch.capture(model):
        h = torch.ones(2, 4)
        for _ in range(3):
            h = torch.tanh(model(h))
            h += 1
    (found,) = gradviz.diagnose(h.sum(), model).findings
    assert (found.kind, found.line.text) == ("overwritten", "h += 1")


def test_after_a_pass_all_that_may_have_made_a_nan_is_told():
    model = torch.nn.Linear(4, 3)
    with gradviz.torch.capture(model):
        h = model(torch.ones(1, 4)) / 2
        loss = ((h - h.mean(0)) / (h.std(0) + 1e-5)).square().mean()
    loss.backward()
    (found,) = gradviz.diagnose(loss, model).findings
    at = f"(test_faults.py:{found.line.number})"
    assert found.line.text.startswith("loss = ")
    assert f"most likely `std` {at} or `div` {at} makes NaN or Inf." in found.sentence


def test_what_gradviz_differentiates_itself_is_not_said_to_have_no_history():
    for loss in (gradviz.Variable(1.0) * 2.0, gradviz.Net("n")):
        (found,) = gradviz.diagnose(loss).findings
        assert found.kind == "no_tensor"
        assert f"a {type(loss).__name__} of gradviz" in found.sentence
        assert "gradviz.debug records its backward pass" in found.ways_out[0]


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("is_given", [False, True])
def test_a_model_that_is_called_with_other_parameters_is_no_fault_where_nobody_asks_for_it(device, is_given):
    x, y = faulty.data()
    base = faulty.Two()
    params, buffers = torch.func.stack_module_state([faulty.Two() for _ in range(3)])
    base.to(device)

    def call(params, buffers):
        return torch.func.functional_call(base, (params, buffers), (x,))

    with gradviz.torch.capture():
        loss = F.cross_entropy(torch.vmap(call)(params, buffers).flatten(0, 1), y.repeat(3))
    (found,) = gradviz.diagnose(loss, base if is_given else None).findings
    assert (found.kind, found.harm, found.names) == ("functional", is_given, ALL)
    assert found.sentence.startswith("`Two` is called with other parameters than its own, as functional_call() does")
