"""Times convolutional networks as Chainer's first convnet benchmark did, here by nets and their gradient operators.

    python demos/convnet_benchmark.py --model alex --iteration 10 --batch 4

Each iteration makes images (forward preprocess), runs the net (forward), makes a gradient of ones for its output
(backward preprocess) and runs the gradient operators (backward), those of the parameters and of the images. The first
iteration, in which nets are planned, is reported apart; averages are over the others. Set OMP_NUM_THREADS=1 before to
time one thread.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple

import numpy as np

from gradviz import Device, Net, Workspace
from gradviz.runtime.devices import finish


class Conv(NamedTuple):
    """A convolution, over images with margins of `pad`."""

    filters: int
    kernel: int
    stride: int = 1
    pad: int = 0


class MaxPool(NamedTuple):
    """The largest under each window; the last windows may reach beyond the image, so that all of it is covered."""

    kernel: int
    stride: int


class Linear(NamedTuple):
    """A fully connected layer."""

    outputs: int


class Architecture(NamedTuple):
    """Layers over square images; each Conv is followed by Relu where `rectified`."""

    channels: int
    size: int
    layers: tuple[Conv | MaxPool | Linear, ...]
    rectified: bool = True


ARCHITECTURES = {
    "alex": Architecture(
        3,
        224,
        (
            *(Conv(96, 11, 4, 2), MaxPool(3, 2), Conv(256, 5, 1, 2), MaxPool(3, 2)),
            *(Conv(384, 3, 1, 1), Conv(384, 3, 1, 1), Conv(256, 3, 1, 1), MaxPool(3, 2)),
            *(Linear(4096), Linear(4096), Linear(1000)),
        ),
    ),
    "overfeat": Architecture(
        3,
        231,
        (
            *(Conv(96, 11, 4), MaxPool(2, 2), Conv(256, 5), MaxPool(2, 2)),
            *(Conv(512, 3, 1, 1), Conv(1024, 3, 1, 1), Conv(1024, 3, 1, 1), MaxPool(2, 2)),
            *(Linear(3072), Linear(4096), Linear(1000)),
        ),
    ),
    "vgg": Architecture(
        3,
        224,
        (
            *(Conv(64, 3), MaxPool(2, 2), Conv(256, 3), MaxPool(2, 2)),
            *(Conv(256, 3, 1, 1), Conv(256, 3, 1, 1), MaxPool(2, 2)),
            *(Conv(512, 3, 1, 1), Conv(512, 3, 1, 1), MaxPool(2, 2)),
            *(Conv(512, 3, 1, 1), Conv(512, 3, 1, 1), MaxPool(2, 2)),
            *(Linear(4096), Linear(4096), Linear(1000)),
        ),
    ),
    "conv1": Architecture(3, 128, (Conv(96, 11),), rectified=False),
    "conv2": Architecture(64, 64, (Conv(128, 9),), rectified=False),
    "conv3": Architecture(128, 32, (Conv(128, 9),), rectified=False),
    "conv4": Architecture(128, 16, (Conv(128, 7),), rectified=False),
    "conv5": Architecture(384, 13, (Conv(384, 3),), rectified=False),
}

PARTS = ("forward-preprocess", "forward", "backward-preprocess", "backward")
Shapes = dict[str, tuple[int, ...]]


def build(architecture: Architecture) -> tuple[Net, str, Shapes]:
    """The net that reads the images x, the name of its output, and the shapes of its parameters."""
    net, shapes, x = Net("convnet"), Shapes(), "x"
    channels, size = architecture.channels, architecture.size
    for number, layer in enumerate(architecture.layers):
        w, b, y = f"w{number}", f"b{number}", f"y{number}"
        match layer:
            case Conv(filters, kernel, stride, pad):
                shapes |= {w: (filters, channels, kernel, kernel), b: (filters,)}
                x = net.Conv([x, w, b], y, kernel=kernel, stride=stride, pad=pad)
                x = net.Relu(x, f"{y}_rectified") if architecture.rectified else x
                channels, size = filters, (size + 2 * pad - kernel) // stride + 1
            case MaxPool(kernel, stride):
                places = -(-(size - kernel) // stride) + 1
                beyond = (places - 1) * stride + kernel - size
                x = net.MaxPool(x, y, kernel=kernel, stride=stride, pads=[0, 0, beyond, beyond])
                size = places
            case Linear(outputs):
                shapes |= {w: (outputs, channels * size * size), b: (outputs,)}
                x = net.FC([x, w, b], y)
                channels, size = outputs, 1
    return net, x, shapes


class Timers:
    """Milliseconds of each part of each iteration; work on a GPU counts until it is done."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.milliseconds: dict[str, list[float]] = {}

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Count what happens in the ``with`` block to `part`."""
        finish(self.device)
        start = perf_counter()
        yield
        finish(self.device)
        self.milliseconds.setdefault(part, []).append(1e3 * (perf_counter() - start))


def run(architecture: Architecture, batch: int, iterations: int, device: str) -> Timers:
    """Run forward and backward `iterations` times on new images."""
    random = np.random.default_rng(0)
    net, y, shapes = build(architecture)
    forward = Net("forward", list(net.ops))
    net.add_gradient_operators({y: "given"})
    backward = Net("backward", net.ops[len(forward.ops) :])
    workspace = Workspace(device=device)
    for name, shape in shapes.items():
        scale = np.float32(np.prod(shape[1:]) ** -0.5)
        workspace.feed(name, scale * random.standard_normal(shape, np.float32))
    timers = Timers(workspace.device)
    with timers.measure("total"):
        for _ in range(iterations):
            with timers.measure("iteration"):
                with timers.measure("forward-preprocess"):
                    images = random.uniform(-1, 1, (batch, architecture.channels, *[architecture.size] * 2))
                    workspace.feed("x", images.astype(np.float32))
                with timers.measure("forward"):
                    workspace.run(forward)
                with timers.measure("backward-preprocess"):
                    workspace.feed("given", np.ones(workspace[y].shape, np.float32))
                with timers.measure("backward"):
                    workspace.run(backward)
    return timers


def report(timers: Timers) -> Iterator[str]:
    """Lines of names and milliseconds, tabs between them."""
    for part in (*PARTS, "iteration"):
        times = np.array(timers.milliseconds[part])
        yield f"{part.replace('-', ' ').title()}:"
        if part.endswith("preprocess"):
            yield f"average-{part}-pass\t{times.mean():.3f}\tms"
        else:
            yield f"each-{part}-pass\t" + "\t".join(f"{time:.3f}" for time in times)
            yield f"first-{part}-pass\t{times[0]:.3f}\tms"
            yield f"average-{part}-pass(iter2-)\t{times[1:].mean():.3f}\tms"
    yield f"total-pass\t{timers.milliseconds['total'][0]:.3f}\tms"


def main() -> None:
    """Time what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description="Time a convolutional network's forward and backward pass.")
    parser.add_argument("-m", "--model", default="alex", choices=ARCHITECTURES, help="which network (alex)")
    parser.add_argument("-i", "--iteration", type=int, default=10, help="how many iterations, at least 2 (10)")
    parser.add_argument("-b", "--batch", type=int, default=4, help="how many images at a time (4)")
    parser.add_argument("-d", "--device", default="cpu", help="cpu, or cuda:0 with CuPy (cpu)")
    arguments = parser.parse_args()
    if arguments.iteration < 2 or arguments.batch < 1:
        parser.error("there must be at least 2 iterations, of at least 1 image")
    print(f"Architecture\t{arguments.model}\nIteration\t{arguments.iteration}\nBatch\t{arguments.batch}")
    timers = run(ARCHITECTURES[arguments.model], arguments.batch, arguments.iteration, arguments.device)
    print("\n".join(report(timers)))


if __name__ == "__main__":
    main()
