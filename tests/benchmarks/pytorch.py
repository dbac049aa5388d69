"""Models of PyTorch: what capturing a forward pass and recording the backward pass takes, beside just these."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import gradviz
from tests.benchmarks.figures import Answer, Figure, Skipped, Target
from tests.benchmarks.pytorch_memory import STATUS, peak_of
from tests.benchmarks.timing import Effort, best_seconds

NODES = 6_000
MOST_RATIO = {"ResNet-18": 1.3, "GPT 4 x 256": 1.3, "tiny GPT": 2.5}
MOST_SECONDS = 1.0
MOST_MEMORY = 1.1

Loss = Callable[[], Any]


def measure(effort: Effort) -> Iterator[Answer]:
    """Milliseconds of a training step's passes, recorded, beside the same alone and under TorchLens."""
    if find_spec("torch") is None:
        yield Skipped("record models of PyTorch", "torch", "which is not installed")
        return
    torch = import_module("torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for name, (model, loss) in models(torch, effort).items():
        contenders = {"recorded": partial(recorded, model, loss), "alone": partial(alone, torch, model, loss)}
        seconds = best_seconds(contenders, effort)
        target = Target("ratio", MOST_RATIO[name])
        own, peer = 1e3 * seconds["recorded"], 1e3 * seconds["alone"]
        yield Figure(f"record {name}", "capture + record", own, "ms", "torch", peer, target)
        yield lens(torch, name, model, loss, seconds["alone"], effort)
    long = chain(torch, NODES)
    taken = best_seconds({"record": lambda: len(gradviz.debug(long))}, effort)["record"]
    yield Figure("record a graph", f"{NODES:,} nodes", taken, "s", target=Target("figure", MOST_SECONDS))
    yield memory()


def models(torch: Any, effort: Effort) -> dict[str, tuple[Any, Loss]]:
    """The models with what computes the loss of each; quick measurements take smaller ones."""
    made = import_module("tests.bridges.torch.models")
    is_quick = effort.repetitions < 5
    images = torch.randn(2 if is_quick else 8, 3, 64, 64)
    resnet = made.ResNet18(8 if is_quick else 64)
    wide = made.GPT(4, 32 if is_quick else 256, 4, length=128)
    tiny = made.GPT(2, 32, 2)
    return {
        "ResNet-18": (resnet, lambda: resnet(images).square().mean()),
        "GPT 4 x 256": (wide, lambda: wide(torch.zeros(4, 128, dtype=torch.long)).square().mean()),
        "tiny GPT": (tiny, lambda: tiny(torch.zeros(4, 16, dtype=torch.long)).square().mean()),
    }


def recorded(model: Any, loss: Loss) -> object:
    """The passes with a capture, and the recording."""
    with gradviz.torch.capture(model):
        y = loss()
    return gradviz.debug(y)


def alone(torch: Any, model: Any, loss: Loss) -> object:
    """The passes."""
    return torch.autograd.grad(loss(), list(model.parameters()))


def memory() -> Answer:
    """The peak memory of recording ResNet-18, but for the gradients that it keeps, beside that of the passes alone."""
    if not STATUS.exists():
        return Skipped("memory of a recording", "Linux", "which alone tells the peak of a process")
    alone, recorded = peak_of("alone"), peak_of("recorded")
    own, peer = (recorded.peak - recorded.kept) / 1e6, alone.peak / 1e6
    return Figure("memory beside gradients", "ResNet-18", own, "MB", "torch", peer, Target("ratio", MOST_MEMORY))


def lens(torch: Any, name: str, model: Any, loss: Loss, seconds: float, effort: Effort) -> Answer:
    """The same under TorchLens, which wants an environment of its own."""
    what = f"record {name}, by TorchLens"
    if find_spec("torchlens") is None:
        return Skipped(what, "TorchLens", "which is not installed")
    torchlens = import_module("torchlens")

    def traced() -> object:
        trace = torchlens.trace(Whole(), torch.zeros(1), capture=torchlens.options.CaptureOptions(backward_ready=True))
        return trace.log_backward(trace[trace.output_layers[0]].out)

    class Whole(torch.nn.Module):  # type: ignore[misc,name-defined]
        """The model with its loss."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return loss() + 0 * x.sum()

    taken = best_seconds({what: traced}, replace(effort, repetitions=2, sample_seconds=0.01))[what]
    return Figure(what, "trace + backward", 1e3 * taken, "ms", "torch", 1e3 * seconds)


def chain(torch: Any, nodes: int) -> Any:
    """A loss at the end of so many tiny operators."""
    y = torch.ones(8, requires_grad=True)
    for _ in range(nodes - 1):
        y = torch.tanh(y)
    return y.sum()
