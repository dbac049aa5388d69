"""Times convolutional networks forward and backward, as two benchmarks of frameworks did: with Variables, or as a net.

    python demos/convnet_benchmark.py --model alex --iteration 10           # of Chainer's profile (2015)
    python demos/convnet_benchmark.py --arch googlenet --batch 8            # of soumith/convnet-benchmarks
    python demos/convnet_benchmark.py --model alex --engine tape --layers   # which layer takes how long

With ``--model`` each iteration makes images (forward preprocess), runs the network (forward), makes a gradient of ones
for its output (backward preprocess) and goes backward, to the parameters and to the images. The first iteration, in
which much is planned, is reported apart; averages are over the others. With ``--arch`` the images are always the same,
the gradient is 3, three iterations are not counted, and the averages of forward and backward are reported. What is
printed is what those programs print; a word on the run and the progress stand on the standard error. Set
OMP_NUM_THREADS=1 before to time one thread.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import prod
from time import perf_counter
from typing import Any

import numpy as np
from convnets import ARCHITECTURES, MODELS, Architecture, Engine, VariableEngine, engine_of

from gradviz import Device, FunctionHook, GradvizError
from gradviz.runtime.devices import finish

PARTS = ("forward-preprocess", "forward", "backward-preprocess", "backward")
NOT_COUNTED = 3
"""How many iterations with ``--arch`` come before those that are counted."""

BARS = 40
"""How long the longest bar is."""


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


class LayerTimes(FunctionHook):
    """Milliseconds of each function, forward and backward, by a name that counts functions of one type.

    Attributes:
        milliseconds: name -> those of each run, (forward, backward).
    """

    def __init__(self, device: Device) -> None:
        self.milliseconds: dict[str, tuple[list[float], list[float]]] = {}
        self._device = device
        self._names: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """A new iteration: the next function is the first one again."""
        self._names.clear()
        self._counts.clear()

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        self._start()

    def forward_postprocess(self, function: Any, in_data: Any) -> None:
        count = self._counts[function.label] = self._counts.get(function.label, 0) + 1
        name = self._names[id(function)] = f"{function.label} {count}"
        self._stop(name, 0)

    def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self._start()

    def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self._stop(self._names[id(function)], 1)

    def _start(self) -> None:
        finish(self._device)
        self._started = perf_counter()

    def _stop(self, name: str, direction: int) -> None:
        finish(self._device)
        self.milliseconds.setdefault(name, ([], []))[direction].append(1e3 * (perf_counter() - self._started))

    def table(self) -> dict[str, tuple[float, float]]:
        """name -> the medians of forward and backward, in the order of the network."""
        return {name: tuple(map(median, times)) for name, times in self.milliseconds.items()}


def median(milliseconds: list[float]) -> float:
    """The one in the middle; 0 where there is none."""
    return float(np.median(milliseconds)) if milliseconds else 0.0


def run(
    engine: Engine,
    architecture: Architecture,
    batch: int,
    iterations: int,
    *,
    is_seeded: bool = True,
    layers: LayerTimes | None = None,
) -> Timers:
    """Run forward and backward `iterations` times.

    Args:
        is_seeded: on new images, and back from ones; else on one image over and over, and back from threes.
        layers: takes the time of each layer too.
    """
    random, shape = np.random.default_rng(0), (batch, architecture.channels, *[architecture.size] * 2)
    timers = Timers(engine.device)
    with timers.measure("total"):
        for iteration in range(iterations):
            progress(iteration, iterations)
            watched: AbstractContextManager[Any] = layers or nullcontext()
            with timers.measure("iteration"), watched:
                if layers:
                    layers.begin()
                with timers.measure("forward-preprocess"):
                    images = random.uniform(-1, 1, shape) if is_seeded else np.full(shape, 33333)
                    engine.give(images.astype(np.float32))
                with timers.measure("forward"):
                    engine.forward()
                with timers.measure("backward-preprocess"):
                    engine.seed(1 if is_seeded else 3)
                with timers.measure("backward"):
                    engine.backward()
    progress(iterations, iterations)
    return timers


def progress(done: int, count: int) -> None:
    """Show how far it is, where somebody looks."""
    if sys.stderr.isatty():
        bar = "█" * (BARS * done // count)
        print(f"\r{bar:░<{BARS}} {done}/{count}", end="\n" if done == count else "", file=sys.stderr, flush=True)


def report(timers: Timers) -> Iterator[str]:
    """Lines of names and milliseconds, tabs between them: the timers of Chainer's profile in its order."""
    for part in (*PARTS, "iteration"):
        times = np.array(timers.milliseconds[part])
        yield f"{part.replace('-', ' ').title()}:"
        if part.endswith("preprocess"):
            yield f"average-{part}-pass\t{times.mean():.3f}\tms"
        else:
            end = "" if part == "iteration" else "\t"
            yield f"each-{part}-pass\t" + "\t".join(f"{time:.3f}" for time in times) + end
            yield f"first-{part}-pass\t{times[0]:.3f}\tms"
            yield f"average-{part}-pass(iter2-)\t{times[1:].mean():.3f}\tms"
    yield f"total-pass\t{timers.milliseconds['total'][0]:.3f}\tms"


def averages(name: str, timers: Timers) -> Iterator[str]:
    """What soumith's benchmarks print: the averages of the iterations that count."""
    forward, backward = (np.mean(timers.milliseconds[part][NOT_COUNTED:]) for part in ("forward", "backward"))
    yield name
    for what, milliseconds in (("Forward", forward), ("Backward", backward), ("Total", forward + backward)):
        yield f"Average {what + ':':<10} {milliseconds:.3f}  ms"
    yield ""


def chart(table: dict[str, tuple[float, float]]) -> Iterator[str]:
    """A bar for each layer, as long as it takes: forward dark, backward light."""
    longest, width = max(map(sum, table.values())), max(map(len, table))
    yield f"{'':{width}}  {'forward':>9} {'backward':>9}  ms"
    for name, (forward, backward) in table.items():
        dark, all_of_it = round(BARS * forward / longest), round(BARS * (forward + backward) / longest)
        yield f"{name:{width}}  {forward:9.3f} {backward:9.3f}  {'█' * dark}{'░' * (all_of_it - dark)}"


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="Time a convolutional network's forward and backward pass.")
    network = parser.add_mutually_exclusive_group()
    network.add_argument("-m", "--model", choices=MODELS, help="a network of Chainer's profile (alex)")
    network.add_argument("-a", "--arch", choices=ARCHITECTURES, help="a network of soumith/convnet-benchmarks")
    parser.add_argument("-e", "--engine", choices=("net", "rank", "tape"), default="rank", help="what runs it (rank)")
    parser.add_argument("-i", "--iteration", type=int, help="how many iterations (10; with --arch 13)")
    parser.add_argument("-b", "-B", "--batch", type=int, default=4, help="images at a time (4; the originals: 128)")
    parser.add_argument("-d", "--device", default="cpu", help="cpu, or cuda:0 with CuPy (cpu)")
    parser.add_argument("-l", "--layers", action="store_true", help="a chart of the time of each layer, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead, milliseconds")
    arguments = parser.parse_args(line)
    arguments.model = None if arguments.arch else arguments.model or "alex"
    fewest = NOT_COUNTED + 1 if arguments.arch else 2
    arguments.iteration = (13 if arguments.arch else 10) if arguments.iteration is None else arguments.iteration
    if arguments.iteration < fewest or arguments.batch < 1:
        parser.error(f"there must be at least {fewest} iterations, of at least 1 image")
    if arguments.layers and arguments.engine == "net":
        parser.error("--layers looks at functions of Variables: choose --engine rank or tape")
    return arguments


def main(line: list[str] | None = None) -> None:
    """Time what the command line asks for and print it."""
    arguments = arguments_of(line)
    name = arguments.arch or arguments.model
    architecture = (ARCHITECTURES if arguments.arch else MODELS)[name]
    engine = engine_of(arguments.engine, architecture, arguments.device)
    parameters = sum(map(prod, engine.shapes.values()))
    about = f"{name}: {parameters:,} parameters, {arguments.batch} images at a time"
    print(f"{about}, engine {arguments.engine} on {engine.device}", file=sys.stderr)
    layers = LayerTimes(engine.device) if arguments.layers and isinstance(engine, VariableEngine) else None
    timers = run(
        engine, architecture, arguments.batch, arguments.iteration, is_seeded=not arguments.arch, layers=layers
    )
    table = layers.table() if layers else {}
    if arguments.json:
        told = {key: value for key, value in vars(arguments).items() if key not in ("json", "layers")}
        print(json.dumps({**told, "parameters": parameters, "milliseconds": timers.milliseconds, "layers": table}))
        return
    if arguments.arch:
        lines = [*averages(name, timers)]
    else:
        lines = [f"Architecture\t{name}", f"Iteration\t{arguments.iteration}", *report(timers)]
    print("\n".join([*lines, *(chart(table) if table else [])]))


if __name__ == "__main__":
    try:
        main()
    except GradvizError as error:
        sys.exit(str(error))
