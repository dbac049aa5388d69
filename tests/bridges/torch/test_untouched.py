"""A recording leaves everything as it was: gradients, hooks, optimizers in hooks, ranks, random numbers and modes."""

import gc
import socket
import subprocess
import sys
import threading
import weakref
from functools import partial

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

import gradviz
from tests.bridges.torch.models import Checkpointed, classified, mlp


def run():
    torch.manual_seed(3)
    return classified(mlp(), 5, 6)


def values(model):
    return [parameter.grad for parameter in model.parameters()]


def test_gradients_that_were_there_stay_the_same_objects():
    model, loss = run()
    held = [torch.ones_like(parameter) for parameter in model.parameters()]
    for parameter, grad in zip(model.parameters(), held, strict=True):
        parameter.grad = grad
    versions = [grad._version for grad in held]
    gradviz.debug(loss)
    assert all(parameter.grad is grad for parameter, grad in zip(model.parameters(), held, strict=True))
    assert [grad._version for grad in held] == versions


@pytest.mark.parametrize("is_captured", [False, True])
def test_what_lies_between_keeps_the_gradient_that_it_kept(is_captured):
    x = torch.randn(3, requires_grad=True)

    def compute():
        h = torch.tanh(x)
        h.retain_grad()
        return h, (h * h).sum()

    if is_captured:
        with gradviz.torch.capture():
            h, loss = compute()
    else:
        h, loss = compute()
    gradviz.debug(loss)
    assert h.grad is None
    loss.backward(retain_graph=True)
    grad = h.grad
    gradviz.debug(loss)
    assert h.grad is grad
    assert torch.equal(grad, 2 * h)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_results_of_functions_and_parts_of_a_tensor_keep_the_gradient_that_they_kept():
    x = torch.randn(4, requires_grad=True)
    with gradviz.torch.capture():
        between = Twice.apply(x * 1)
        first, _ = torch.tanh(Twice.apply(between)).split(2)
        loss = first.sum()
    for one in (between, first):
        one.retain_grad()
    gradviz.debug(loss)
    assert between.grad is first.grad is None


def test_an_optimizer_in_a_hook_does_not_step():
    def train(*, is_recorded):
        model, loss = run()
        steps = []
        for parameter in model.parameters():
            optimizer = torch.optim.SGD([parameter], 0.1)

            def step(parameter, optimizer=optimizer):
                steps.append(parameter)
                optimizer.step()
                optimizer.zero_grad()

            parameter.register_post_accumulate_grad_hook(step)
        if is_recorded:
            gradviz.debug(loss)
            assert steps == []
        loss.backward()
        return [parameter.detach().clone() for parameter in model.parameters()]

    pairs = zip(train(is_recorded=True), train(is_recorded=False), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_hooks_of_ours_are_gone_afterwards():
    _, loss = run()
    session = gradviz.debug(loss)
    count = len(session.events)
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    assert len(session.events) == count
    assert not any(hooks for hooks in map(_hooks, [loss.grad_fn, *(one for one, _ in loss.grad_fn.next_functions)]))


def _hooks(node):
    """The hooks of a node: the dictionary that its first hook makes is there for good."""
    handle = node.register_hook(lambda *_: None)
    found = len(handle.hooks_dict_ref())
    handle.remove()
    return found - 1


def test_the_mode_of_gradients_and_random_numbers_stay():
    torch.manual_seed(5)
    _, loss = classified(nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 2)), 5, 6)
    state = torch.get_rng_state()
    gradviz.debug(loss)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.is_grad_enabled()
    with torch.no_grad():
        gradviz.debug(loss)
        assert not torch.is_grad_enabled()


def test_checkpoints_that_write_put_every_gradient_back():
    torch.manual_seed(3)
    model, loss = classified(Checkpointed(reentrant=True), 3, 4)
    held = torch.zeros_like(model.middle[0].weight)
    model.middle[0].weight.grad = held
    gradviz.debug(loss)
    grads = dict(model.named_parameters())
    assert grads.pop("middle.0.weight").grad is held
    assert not held.any()
    assert all(parameter.grad is None for parameter in grads.values())


def test_what_selective_checkpoints_have_cached_for_one_pass_is_left_to_that_of_the_user():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.ones(5, 3)
    contexts = partial(create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])
    loss = checkpoint(model, x, use_reentrant=False, context_fn=contexts).square().mean()
    assert not gradviz.diagnose(loss, model).findings
    live = gradviz.live(loss)
    for _ in range(4):
        live.step()
    live.abort()
    gradviz.live(loss).finish()
    session = gradviz.debug(loss)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert torch.equal(torch.tensor(session.value(f"{name}_grad")), parameter.grad)


def test_checkpoints_that_write_are_refused_where_somebody_waits_for_it():
    model, loss = classified(Checkpointed(reentrant=True), 3, 4)
    model.first.weight.register_post_accumulate_grad_hook(lambda parameter: None)
    with pytest.raises(gradviz.GradientError, match="a hook that waits") as caught:
        gradviz.debug(loss)
    assert caught.value.kind == "reentrant_checkpoint"
    gradviz.debug(loss, write=True)


def test_a_pass_that_another_thread_begins_meanwhile_is_not_recorded():
    model, loss = run()
    alone = len(gradviz.debug(loss).events)
    begun = []

    def backward_elsewhere(grad):
        if not begun:
            begun.append(threading.Thread(target=lambda: loss.backward(retain_graph=True)))
            begun[0].start()
            begun[0].join()

    loss.register_hook(lambda grad: None)
    h = loss.grad_fn.next_functions[0][0]
    h.register_prehook(backward_elsewhere)
    assert len(gradviz.debug(loss).events) == alone
    assert begun
    assert all(grad is not None for grad in values(model))


def _rank(rank, port, results):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    found = []
    for is_recorded in (True, False):
        torch.manual_seed(0)
        model = DistributedDataParallel(mlp())
        torch.manual_seed(rank)
        loss = model(torch.randn(4, 6)).square().mean()
        if is_recorded and rank == 0:
            gradviz.debug(loss)
        loss.backward()
        found.append([grad.numpy().tobytes() for grad in values(model)])
    results.put(found)
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.slow
def test_ranks_of_a_distributed_model_agree_after_a_recording_on_one():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = mp.get_context("spawn")
    results = context.Queue()
    ranks = [context.Process(target=_rank, args=(rank, port, results)) for rank in (0, 1)]
    for one in ranks:
        one.start()
    (recorded, alone), (other_recorded, other_alone) = (results.get(timeout=120) for _ in ranks)
    for one in ranks:
        one.join()
    assert recorded == alone == other_recorded == other_alone


def test_a_session_that_nobody_refers_to_lets_go_of_the_graph_at_once():
    def session_and_tensor():
        x = torch.ones(3, requires_grad=True)
        squares = x * x
        return gradviz.debug((squares + x).sum()), weakref.ref(x)

    session_and_tensor()[0].run_to("Accumulated")  # what is kept once and for all
    gc.collect()
    gc.disable()
    try:
        session, tensor = session_and_tensor()
        session.run_to("Accumulated")
        session.ledger("x")
        session.graph()
        assert tensor() is not None
        del session
        assert tensor() is None
    finally:
        gc.enable()


FIRST = """
import torch

import gradviz

model = torch.nn.Linear(3, 1)
loss = model(torch.ones(2, 3)).sum()
with torch.{mode}():
    with gradviz.torch.capture(model):
        model(torch.ones(2, 3))
    print(gradviz.debug(loss).events[-1].kind, gradviz.diagnose(loss, model).is_healthy)
"""


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_it_may_be_asked_first_where_gradients_are_off(mode):
    said = subprocess.run([sys.executable, "-c", FIRST.format(mode=mode)], capture_output=True, text=True)
    assert said.stdout == "Completed True\n", said.stderr
