"""What a capture of the forward pass adds: names of modules and variables."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gradviz
from tests.bridges.torch.models import ResNet18, mlp


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


def test_without_a_capture_there_are_the_names_of_parameters_and_variables():
    model = mlp()
    x = torch.randn(3, 6)
    y = model(x)
    loss = y.square().sum()
    net = gradviz.debug(loss).net
    assert [op.outputs[0] for op in net.ops][-1] == "0.weight_grad"
    assert {"0.weight", "4.bias", "y", "loss", "x"} <= {name for op in net.ops for name in (*op.inputs, *op.outputs)}


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
    compiled = torch.compile(model, backend="aot_eager")
    with gradviz.torch.capture(model):
        loss = compiled(x).square().sum()
    session = gradviz.debug(loss)
    assert [op.type for op in session.net.ops if not op.is_gradient] == ["CompiledFunction", "pow", "sum"]
    assert {"0.weight", "4.bias", "x"} <= set(session.net.ops[0].inputs)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert np.array_equal(session.value(f"{name}_grad"), parameter.grad)
