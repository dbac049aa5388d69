"""What a capture of the forward pass adds: names of modules and variables."""

import copy
import functools
import threading
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.models import ResNet18, Through, mlp


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 2)

    def forward(self, x):
        h = self.body(x)
        gate = torch.sigmoid(h)
        return self.head(h * gate)


def outputs(session):
    return [op.outputs[0] for op in session.net.ops if not op.is_gradient]


def test_results_are_called_by_variables_and_modules():
    model, x = Net(), torch.randn(3, 6)
    with gradviz.torch.capture(model):
        y = model(x)
        loss = F.cross_entropy(y, torch.tensor([0, 1, 0]))
    names = outputs(gradviz.debug(loss))
    assert names == ["body.0.t", "body.0", "h", "gate", "mul", "head.t", "y", "log_softmax", "loss"]
    assert gradviz.debug(loss).net.ops[1].inputs == ["body.0.bias", "body.0.t", "x"]


def test_modules_are_learnt_as_they_are_called():
    model = Net()
    with gradviz.torch.capture():
        loss = model(torch.randn(3, 6)).sum()
    assert outputs(gradviz.debug(loss))[:3] == ["body.0.t", "body.0", "h"]


def test_a_loss_module_beside_the_model_leaves_its_names_alone():
    model, criterion = Net(), nn.CrossEntropyLoss()
    with gradviz.torch.capture():
        loss = criterion(model(torch.randn(3, 6)), torch.tensor([0, 1, 0]))
    session = gradviz.debug(loss)
    assert {"body.0.weight", "head.bias", "criterion.log_softmax"} <= {*session.finish().gradients}


@pytest.mark.parametrize("models", ["none", "given", "learnt"])
def test_debug_and_diagnose_call_several_models_by_their_variables(models):
    encoder, decoder, other = nn.Linear(6, 4), nn.Linear(4, 6), Net()
    x = torch.randn(3, 6)
    given = [encoder, decoder, other] if models == "given" else []
    with gradviz.torch.capture(*given) if models != "none" else nullcontext():
        loss = other(decoder(encoder(x))).square().mean()
    names = {name for name in gradviz.debug(loss).finish().gradients if name.endswith("bias")}
    assert names == {"encoder.bias", "decoder.bias", "other.body.0.bias", "other.head.bias"}
    encoder.requires_grad_(requires_grad=False)
    with gradviz.torch.capture(*given) if models != "none" else nullcontext():
        loss = other(decoder(encoder(x).detach())).square().mean()
    decoder.bias.requires_grad_(requires_grad=False)
    found = gradviz.diagnose(loss, [encoder, decoder, other])
    assert [one.names for one in found.findings] == [("encoder.weight", "encoder.bias", "decoder.bias")]


@pytest.mark.parametrize("is_captured", [False, True])
def test_debug_and_diagnose_call_what_two_models_share_by_the_first(is_captured):
    trunk = nn.Linear(6, 4)
    actor, critic = nn.Sequential(trunk, nn.Linear(4, 2)), nn.Sequential(trunk, nn.Linear(4, 1))
    x = torch.randn(3, 6)
    with gradviz.torch.capture() if is_captured else nullcontext():
        loss = actor(x).square().mean() + critic(x).square().mean() * torch.inf
    session = gradviz.debug(loss)
    assert {"actor.0.bias", "actor.1.bias", "critic.1.bias"} <= {*session.finish().gradients}
    (found,) = gradviz.diagnose(loss).findings
    assert {*found.names} <= {*session.event.gradients}


@pytest.mark.parametrize("given", [False, True])
def test_parts_that_are_called_by_themselves_have_their_paths_in_the_model(given):
    model, x = Net(), torch.randn(3, 6)
    with gradviz.torch.capture(*[model.body, model.head] if given else []):
        h = model.body(x)
        loss = model.head(h).square().mean()
        if not given:
            loss = loss + model(x).mean()
    names = {name for name in gradviz.debug(loss).finish().gradients if "weight" in name or "h" in name}
    assert {"body.0.weight", "head.weight", "h"} <= names
    assert not given or gradviz.diagnose(h.sum()).findings[0].names == ("head.weight", "head.bias")


def test_models_of_one_class_that_no_variable_holds_get_numbers():
    layers = [nn.Linear(4, 4) for _ in range(2)]
    with gradviz.torch.capture(*layers):
        loss = layers[1](layers[0](torch.randn(3, 4))).sum()
    gradients = gradviz.debug(loss).finish().gradients
    assert {"Linear.weight", "Linear", "Linear_1.weight", "loss"} <= {*gradients}


def test_a_part_that_was_called_before_its_model_was_there_is_one_of_it():
    with gradviz.torch.capture():
        model = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), nn.Tanh())
        loss = model(torch.randn(3, 4)).sum()
    assert "0.parametrizations.weight.original" in gradviz.debug(loss).finish().gradients


def test_names_keep_the_letters_of_every_language():
    größe = torch.nn.ParameterDict({"δ": torch.ones(2)})
    with gradviz.torch.capture(größe):
        länge = (größe["δ"] * größe["δ"]).sum()
    session = gradviz.debug(länge)
    assert {"δ", "δ_grad", "länge", "länge_grad"} <= set(session.blobs)
    assert session.run_to("δ_grad").kind == "RuleApplied"


def test_without_a_capture_there_are_the_names_of_parameters_and_variables():
    model = mlp()
    x = torch.randn(3, 6)
    y = model(x)
    loss = y.square().sum()
    net = gradviz.debug(loss).net
    assert [op.outputs[0] for op in net.ops][-1] == "0.weight_grad"
    assert {"0.weight", "4.bias", "y", "loss", "x"} <= {name for op in net.ops for name in (*op.inputs, *op.outputs)}


def test_leaves_and_results_in_lists_and_dicts_are_called_by_their_places():
    layers = [{"w": torch.randn(4, 4, requires_grad=True)} for _ in range(2)]
    params, named = [one["w"] for one in layers], {"0.scale": torch.ones(4, requires_grad=True)}
    states = [torch.randn(3, 4)]
    for w in params:
        states.append(torch.tanh(states[-1] @ w) * named["0.scale"])
    session = gradviz.debug(states[-1].sum())
    assert {"params[0]", "w", "named[0.scale]", "states[1]", "states[2]"} <= {*session.finish().gradients}
    assert session.run_back_to("params[0]_grad") is not None


def test_diagnose_calls_what_is_in_a_dict_as_recordings_do():
    weights = {name: torch.ones(3, requires_grad=True) for name in ("0.weight", "1.weight")}
    with gradviz.torch.capture():
        loss = (weights["0.weight"].detach() * weights["1.weight"] / 0).sum()
    born, cut = gradviz.diagnose(loss).findings
    assert (born.names, cut.names) == (("weights[1.weight]",), ("weights[0.weight]",))
    assert "weights[1.weight]" in gradviz.debug(loss).finish().gradients


def test_a_variable_in_a_model_is_of_its_module():
    model = ResNet18(8)
    with gradviz.torch.capture(model):
        loss = model(torch.randn(2, 3, 32, 32)).sum()
    names = outputs(gradviz.debug(loss))
    assert {"layer1.0.conv1", "layer1.0.h", "layer4.1.bn1", "layer2.0.downsample.0", "loss"} <= set(names)
    assert len(set(names)) == len(names)


def test_several_passes_and_steps_inside_are_told_apart():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gradviz.torch.capture(model):
        for _ in range(3):
            loss = model(torch.randn(3, 6)).sum()
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
        other = model(torch.randn(3, 6)).mean()
    assert outputs(gradviz.debug(other))[:3] == ["body.0.t", "body.0", "h"]


def test_a_model_that_raises_leaves_no_hooks():
    before = len(nn.modules.module._global_forward_hooks), len(nn.modules.module._global_forward_pre_hooks)
    try:
        with gradviz.torch.capture(model := Net()):
            model(torch.randn(3, 5))
    except RuntimeError:
        pass
    assert before == (len(nn.modules.module._global_forward_hooks), len(nn.modules.module._global_forward_pre_hooks))
    loss = model(torch.randn(3, 6)).sum()
    assert outputs(gradviz.debug(loss))[0] == "t"


@pytest.mark.filterwarnings("ignore:Using `torch.compile")
def test_a_compiled_region_is_one_operator():
    model, x = mlp(), torch.randn(3, 6)
    compiled = torch.compile(model, backend="aot_eager", dynamic=False)
    with gradviz.torch.capture(model):
        loss = compiled(x).square().sum()
    session = gradviz.debug(loss)
    assert [op.type for op in session.net.ops if not op.is_gradient] == ["CompiledFunction", "pow", "sum"]
    assert {"0.weight", "4.bias", "x"} <= set(session.net.ops[0].inputs)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert np.array_equal(session.value(f"{name}_grad"), parameter.grad)


@pytest.mark.filterwarnings("ignore:Using `torch.compile")
def test_a_compiled_region_that_goes_backward_once_says_how_that_pass_is_recorded():
    model, x = mlp(), torch.randn(3, 6)
    compiled = torch.compile(model, backend="aot_eager", dynamic=True)
    session = gradviz.debug(compiled(x).square().sum())
    assert "goes backward, so that it does so once" in session.finish().explanation
    assert "gradviz.debug(loss, write=True)" in session.event.explanation
    again = gradviz.debug(compiled(x).square().sum(), write=True)
    for name, parameter in model.named_parameters():
        assert np.array_equal(again.value(f"{name}_grad"), parameter.grad)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            own = x.detach().requires_grad_()
            ctx.own, ctx.result = own, own.pow(3).sum()
        return ctx.result.detach()

    @staticmethod
    def backward(ctx, gradient):
        return torch.autograd.grad(ctx.result, ctx.own)[0] * gradient


through = Through.apply


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        h = through(self.fc(x))  # of the model
        return h + 1


def test_a_function_is_on_the_line_that_applies_it_and_its_result_has_the_name_of_the_variable():
    model = Own()
    with gradviz.torch.capture(model):
        y = model(torch.randn(4, 3))
        z = through(y * 2)
        loss = Cube.apply(z)  # the last one
    session = gradviz.debug(loss)
    lines = {event.op.outputs[0]: event.code and event.code.text for event in session.events if event.kind == "Played"}
    assert lines["h"] == "h = through(self.fc(x))  # of the model"
    assert lines["z"] == "z = through(y * 2)"
    assert lines["loss"] == "loss = Cube.apply(z)  # the last one"


def test_captures_in_several_threads_note_their_own_functions():
    def run(found):
        with gradviz.torch.capture():
            z = through(torch.ones(2, requires_grad=True) * 2)
            ready.wait()
            y = through(z)
        found.append([str(event.code and event.code.text) for event in gradviz.debug(y.sum()).events[:6:2]])

    ready, found = threading.Barrier(2), []
    threads = [threading.Thread(target=run, args=(found,)) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found[0] == found[1]
    assert found[0][2] == "y = through(z)"


class Aside(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.cut, self.unread, self.frozen = (nn.Linear(3, 2) for _ in range(4))
        self.frozen.requires_grad_(False)

    def forward(self, x):
        return self.used(x) + self.cut(x).detach() + self.frozen(x)


def test_data_and_a_frozen_weight_are_not_said_to_get_none_by_a_rule():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    model[1].weight.requires_grad_(False)
    x = torch.randn(5, 3)
    with gradviz.torch.capture(model):
        loss = model(x).square().sum()
    session = gradviz.debug(loss)
    for name in ("x", "1.weight"):
        (cut,) = session.why_none(name).cuts
        assert cut.text.endswith(" was not asked for its gradient: requires_grad is False, or inputs= leaves it out.")


def test_what_inputs_leaves_out_is_not_said_to_get_none_by_a_rule():
    model = torch.nn.Linear(3, 2)
    with gradviz.torch.capture(model):
        loss = model(torch.randn(5, 3)).square().sum()
    session = gradviz.debug(loss, inputs=[model.weight])
    (cut,) = session.why_none("bias").cuts
    assert cut.text.endswith(" was not asked for its gradient: requires_grad is False, or inputs= leaves it out.")
    session.run_to("AddmmBackward0")
    assert session.event.kind == "RuleApplied"
    assert "No gradient of `bias@0` and" in session.narration


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("unread.weight", "no call of the forward pass reads them"),
        ("cut.bias", "cut off by `detach()`"),
        ("frozen.weight_grad", "frozen (requires_grad is False)"),
    ],
)
def test_a_parameter_that_takes_no_part_has_no_gradient_for_the_reason_that_the_diagnosis_gives(name, reason):
    model = Aside()
    with gradviz.torch.capture(model):
        loss = model(torch.randn(4, 3)).sum()
    session = gradviz.debug(loss)
    parameter = name.removesuffix("_grad")
    (finding,) = [one for one in gradviz.diagnose(loss, model).findings if parameter in one.names]
    found = session.why_none(name)
    assert (found.blob, found.status, found.cuts[0].text) == (parameter, "none", finding.sentence)
    assert reason in str(found)
    assert found.ways_out == finding.ways_out
    with pytest.raises(gradviz.GradvizError) as caught:
        session.ledger(name)
    assert f'It takes no part in the pass: session.why_none("{name}") says why.' in caught.value.ways_out
    with pytest.raises(gradviz.GradvizError, match="no blob nobody"):
        session.why_none("nobody")


def test_without_a_capture_a_parameter_that_takes_no_part_is_one_of_the_models_that_variables_hold():
    model = Aside()
    loss = model(torch.randn(4, 3)).sum()
    (finding,) = [one for one in gradviz.diagnose(loss, model).findings if "cut.bias" in one.names]
    for session in (gradviz.debug(loss), gradviz.live(loss).session):
        found = session.why_none("cut.bias")
        assert (found.cuts[0].text, found.ways_out) == (finding.sentence, finding.ways_out)
        assert any("with gradviz.torch.capture(model)" in way for way in found.ways_out)
    session = gradviz.debug(loss)
    del model, loss
    with pytest.raises(gradviz.GradvizError, match=r"no blob cut\.bias"):  # nothing of the recording keeps the model
        session.why_none("cut.bias")


def test_what_gradviz_itself_does_in_a_capture_is_not_of_the_program():
    model = mlp()
    with gradviz.torch.capture(model) as seen:
        loss = model(torch.ones(2, 6)).square().mean()
        count = len(seen.flow.steps)
        session = gradviz.debug(loss)
        session.finish()
        session.numbers("0.weight")
        session.provenance("0.weight_grad")
        assert len(seen.flow.steps) == count


def test_a_reentrant_checkpoint_is_debugged_in_a_capture():
    model = mlp()
    with gradviz.torch.capture(model):
        x = torch.ones(2, 6, requires_grad=True)
        loss = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=True).sum()
        session = gradviz.debug(loss)
    expected = torch.autograd.grad(model(x).sum(), model[0].weight)[0]
    np.testing.assert_allclose(session.value("0.weight_grad"), expected)


def test_lines_are_of_the_users_code_where_pythons_own_stands_between():
    model = mlp()
    with gradviz.torch.capture(model) as seen:
        functools.singledispatch(torch.sum)(model[0].weight)
        copy.deepcopy(model)
        model[0].weight.detach().numpy()
    assert {step.call.code.co_filename for step in seen.flow.steps} == {__file__}
    assert {step.function for step in seen.flow.steps} == {"sum", "detach", "numpy"}
