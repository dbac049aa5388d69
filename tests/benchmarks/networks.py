"""Networks: AlexNet as the convnet benchmark of the demos has it, forward and backward, by gradviz and by its peers.

All compute the same: the output, and from a gradient of ones for it those of every parameter and of the images. The
peak of memory is that of a process of its own, beyond what it has when everything is imported:
``python -m tests.benchmarks.networks gradviz alex 16`` prints it.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import chainer_peer
from tests.benchmarks.agreement import check_agreement
from tests.benchmarks.figures import Answer, Figure, Skipped, Target
from tests.benchmarks.pytorch_memory import STATUS
from tests.benchmarks.timing import Effort, best_seconds

DEMO = Path(__file__).parents[2] / "demos" / "convnets.py"
STEPS_TO_PEAK = 3
MOST_RATIO = {"gradviz by net": None, "torch": Target("ratio", 1.0), "Chainer": Target("ratio", 0.77)}
MOST_MEMORY = 1.5

Step = Callable[[], dict[str, Any]]


def measure(effort: Effort) -> Iterator[Answer]:
    """Milliseconds a step, and megabytes at most."""
    cases = [("conv5", 1)] if effort.repetitions < 5 else [("alex", 2), ("alex", 16)]
    makers = {"gradviz": ours, "gradviz by net": by_net, "torch": by_torch, "Chainer": by_chainer}
    for who, module in {"torch": "torch", "Chainer": "chainer"}.items():
        if find_spec(module) is None:
            yield Skipped("a convnet", who, f"{module} is not installed")
            del makers[who]
    for model, batch in cases:
        steps = {who: make(model, batch) for who, make in makers.items()}
        expected = steps["gradviz"]()
        for who, step in steps.items():
            # Elements that tie under a window, of which there are a few in float32, send dy another way.
            check_agreement(who, {"total": total(step())}, {"total": total(expected)}, rtol=1e-3)
        taken = {who: 1e3 * seconds for who, seconds in best_seconds(steps, effort).items()}
        gradviz = taken.pop("gradviz")
        for who, theirs in taken.items():
            yield Figure("a convnet", f"{model}, {batch} images", gradviz, "ms", who, theirs, MOST_RATIO[who])
    if "torch" in makers and STATUS.exists():
        model, batch = cases[-1]
        peaks = [peak_of(who, model, batch) / 1e6 for who in ("gradviz", "torch")]
        yield Figure("memory of a convnet", f"{model}, {batch} images", peaks[0], "MB", "torch", peaks[1],
                     Target("ratio", MOST_MEMORY))  # fmt: skip


def total(gradients: dict[str, Any]) -> list[float]:
    """The sum of the sizes of each gradient's elements."""
    return [float(np.abs(np.asarray(gradients[name])).sum(dtype=np.float64)) for name in sorted(gradients)]


def demo() -> Any:
    """The table of networks."""
    if "convnets" not in sys.modules:
        spec = importlib.util.spec_from_file_location("convnets", DEMO)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["convnets"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["convnets"])
    return sys.modules["convnets"]


def images_for(architecture: Any, batch: int) -> Any:
    """Images, float32."""
    shape = (batch, architecture.channels, architecture.size, architecture.size)
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def ours(model: str, batch: int, engine: str = "rank") -> Step:
    """By an engine of the demos."""
    architecture = demo().MODELS[model]
    made, images = demo().engine_of(engine, architecture), images_for(architecture, batch)

    def step() -> dict[str, Any]:
        made.give(images)
        made.forward()
        made.seed(1)
        made.backward()
        gradients: dict[str, Any] = made.gradients()
        return gradients

    return step


def by_net(model: str, batch: int) -> Step:
    """By a net and its gradient operators."""
    return ours(model, batch, "net")


class TorchCalls:
    """The layers by PyTorch."""

    def __init__(self, functional: Any, parameters: dict[str, Any]) -> None:
        self._functional = functional
        self._next = iter(parameters.values())
        self.relu = functional.relu

    def learned(self, shape: Any) -> tuple[Any, Any]:
        return next(self._next), next(self._next)

    def conv(self, x: Any, w: Any, b: Any, stride: int, pad: int) -> Any:
        return self._functional.conv2d(x, w, b, stride, pad)

    def max_pool(self, x: Any, kernel: int, stride: int, pad: int, beyond: int) -> Any:
        return self._functional.max_pool2d(x, kernel, stride, pad, ceil_mode=beyond > 0)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return self._functional.linear(x.flatten(1), w, b)


def by_torch(model: str, batch: int) -> Step:
    """By PyTorch, on one thread."""
    torch, architecture = import_module("torch"), demo().MODELS[model]
    torch.set_num_threads(1)
    shapes = demo().built(architecture)[2]
    leaves = {name: torch.tensor(array, requires_grad=True) for name, array in demo().drawn(shapes)}
    images = images_for(architecture, batch)

    def step() -> dict[str, Any]:
        for leaf in leaves.values():
            leaf.grad = None
        x = torch.tensor(images, requires_grad=True)
        y = demo().applied(architecture, x, TorchCalls(torch.nn.functional, leaves))
        y.backward(torch.ones_like(y))
        return {name: leaf.grad for name, leaf in leaves.items()}

    return step


class ChainerCalls(TorchCalls):
    """The layers by Chainer."""

    def conv(self, x: Any, w: Any, b: Any, stride: int, pad: int) -> Any:
        return self._functional.convolution_2d(x, w, b, stride, pad)

    def max_pool(self, x: Any, kernel: int, stride: int, pad: int, beyond: int) -> Any:
        return self._functional.max_pooling_2d(x, kernel, stride, pad)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return self._functional.linear(x, w, b)


def by_chainer(model: str, batch: int) -> Step:
    """By Chainer, which wants an environment of its own."""
    chainer, architecture = chainer_peer.chainer(), demo().MODELS[model]
    shapes = demo().built(architecture)[2]
    leaves = {name: chainer.Variable(array) for name, array in demo().drawn(shapes)}
    images = images_for(architecture, batch)

    def step() -> dict[str, Any]:
        for leaf in leaves.values():
            leaf.cleargrad()
        y = demo().applied(architecture, chainer.Variable(images), ChainerCalls(chainer.functions, leaves))
        y.grad = np.ones_like(y.data)
        y.backward()
        return {name: leaf.grad for name, leaf in leaves.items()}

    return step


def peak_of(who: str, model: str, batch: int) -> int:
    """Bytes that a process of its own had at most, beyond what it had at first."""
    command = [sys.executable, "-m", "tests.benchmarks.networks", who, model, str(batch)]
    told: int = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told


def main(who: str, model: str, batch: str) -> int:
    """Go a few steps, and look."""
    make = {"gradviz": ours, "gradviz by net": by_net, "torch": by_torch}[who]
    make("conv5", 1)()  # what is loaded then does not count
    before = _of_status("VmRSS")
    step = make(model, int(batch))
    for _ in range(STEPS_TO_PEAK):
        step()
    return _of_status("VmHWM") - before


def _of_status(what: str) -> int:
    (said,) = [line for line in STATUS.read_text().splitlines() if line.startswith(what)]
    return 1024 * int(said.split()[1])


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
