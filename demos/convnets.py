"""Twelve convolutional networks that were used to compare frameworks, as one table, and what runs each of them.

``NetEngine`` builds a net, and generates its gradient operators once; ``VariableEngine`` computes with Variables, whose
backward pass, by rank or as a tape, comes from what has just been computed.
Sources: the networks of Chainer's profile and delta2323/chainer-benchmark (2015), and of soumith/convnet-benchmarks.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradviz import Net, Variable, Workspace
from gradviz import functions as F

Shape = tuple[int, ...]


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
    pad: int = 0


class AveragePool(NamedTuple):
    """The mean under each window."""

    kernel: int
    stride: int


class Linear(NamedTuple):
    """A fully connected layer."""

    outputs: int


class Relu(NamedTuple):
    """A rectifier."""


class Normalize(NamedTuple):
    """Each element by the squares of `near` channels around it, as AlexNet had it."""

    near: int = 5


class Dropout(NamedTuple):
    """A part of the elements set to 0 at random."""

    ratio: float


class Inception(NamedTuple):
    """Four ways side by side, their channels one after the other: 1 x 1, 3 x 3, 5 x 5, and a pool."""

    out1: int
    before3: int
    out3: int
    before5: int
    out5: int
    behind_pool: int

    def ways(self) -> tuple["Layers", ...]:
        """The layers of each way."""
        return (
            rectified(Conv(self.out1, 1)),
            rectified(Conv(self.before3, 1), Conv(self.out3, 3, 1, 1)),
            rectified(Conv(self.before5, 1), Conv(self.out5, 5, 1, 2)),
            (MaxPool(3, 1, 1), *rectified(Conv(self.behind_pool, 1))),
        )


class Head(NamedTuple):
    """Layers on the side, the end of which is added to that of the network."""

    layers: "Layers"


Layer = Conv | MaxPool | AveragePool | Linear | Relu | Normalize | Dropout | Inception | Head
Layers = tuple[Layer, ...]


class Architecture(NamedTuple):
    """Layers over square images of `size` x `size`."""

    channels: int
    size: int
    layers: Layers


def rectified(*layers: Layer) -> Layers:
    """The layers, and a Relu behind each Conv and Linear."""
    return tuple(each for layer in layers for each in (layer, *[Relu()] * isinstance(layer, Conv | Linear)))


def auxiliary() -> Head:
    """A head of GoogLeNet, which brings gradients into its middle."""
    return Head((AveragePool(5, 3), *rectified(Conv(128, 1), Linear(1024)), Linear(1000)))


def vgg(first: Sequence[Layer], *, rectify: bool) -> Layers:
    """VGG-A behind its `first` two convolutions; its fully connected layers with a Relu behind each, if `rectify`."""
    middle = [(Conv(filters, 3, 1, 1), Conv(filters, 3, 1, 1), MaxPool(2, 2)) for filters in (256, 512, 512)]
    dense = (Linear(4096), Linear(4096))
    return (
        *rectified(*first, *[layer for block in middle for layer in block]),
        *(rectified(*dense) if rectify else dense),
        Linear(1000),
    )


THREE_OF_ALEX = (Conv(384, 3, 1, 1), Conv(256, 3, 1, 1), Conv(256, 3, 1, 1))
OVERFEAT = (
    *(Conv(96, 11, 4), MaxPool(2, 2), Conv(256, 5), MaxPool(2, 2)),
    *(Conv(512, 3, 1, 1), Conv(1024, 3, 1, 1), Conv(1024, 3, 1, 1)),
)

MODELS = {
    "alex": Architecture(
        3,
        224,
        (
            *rectified(Conv(96, 11, 4, 2), MaxPool(3, 2), Conv(256, 5, 1, 2), MaxPool(3, 2)),
            *rectified(Conv(384, 3, 1, 1), Conv(384, 3, 1, 1), Conv(256, 3, 1, 1), MaxPool(3, 2)),
            *(Linear(4096), Linear(4096), Linear(1000)),
        ),
    ),
    "overfeat": Architecture(3, 231, (*rectified(*OVERFEAT), MaxPool(2, 2), Linear(3072), Linear(4096), Linear(1000))),
    "vgg": Architecture(3, 224, vgg((Conv(64, 3), MaxPool(2, 2), Conv(256, 3), MaxPool(2, 2)), rectify=False)),
    "conv1": Architecture(3, 128, (Conv(96, 11),)),
    "conv2": Architecture(64, 64, (Conv(128, 9),)),
    "conv3": Architecture(128, 32, (Conv(128, 9),)),
    "conv4": Architecture(128, 16, (Conv(128, 7),)),
    "conv5": Architecture(384, 13, (Conv(384, 3),)),
}
"""The networks of Chainer's profile."""

ARCHITECTURES = {
    "alexnet": Architecture(
        3,
        224,
        (
            *rectified(Conv(64, 11, 4, 2), MaxPool(3, 2), Conv(192, 5, 1, 2), MaxPool(3, 2), *THREE_OF_ALEX),
            *(MaxPool(3, 2), *rectified(Linear(4096), Linear(4096)), Linear(1000)),
        ),
    ),
    "googlenet": Architecture(
        3,
        224,
        (
            *(*rectified(Conv(64, 7, 2, 3)), MaxPool(3, 2), Normalize()),
            *(*rectified(Conv(64, 1), Conv(192, 3, 1, 1)), Normalize(), MaxPool(3, 2)),
            *(Inception(64, 96, 128, 16, 32, 32), Inception(128, 128, 192, 32, 96, 64), MaxPool(3, 2)),
            *(Inception(192, 96, 208, 16, 48, 64), auxiliary(), Inception(160, 112, 224, 24, 64, 64)),
            *(Inception(128, 128, 256, 24, 64, 64), Inception(112, 144, 288, 32, 64, 64), auxiliary()),
            *(Inception(256, 160, 320, 32, 128, 128), MaxPool(3, 2)),
            *(Inception(256, 160, 320, 32, 128, 128), Inception(384, 192, 384, 48, 128, 128)),
            *(AveragePool(7, 1), Dropout(0.4), Linear(1000)),
        ),
    ),
    "vgga": Architecture(
        3, 224, vgg((Conv(64, 3, 1, 1), MaxPool(2, 2), Conv(128, 3, 1, 1), MaxPool(2, 2)), rectify=True)
    ),
    "overfeat": Architecture(
        3,
        231,
        (*rectified(*OVERFEAT), MaxPool(3, 2), *rectified(Linear(3072), Linear(4096)), Linear(1000)),
    ),
}
"""The networks of Soumith Chintala's benchmarks."""


class Calls(Protocol):
    """How an engine applies one layer to x."""

    def learned(self, shape: Shape) -> tuple[Any, Any]:
        """Weights of this shape, and a bias for each of the first dimension."""

    def conv(self, x: Any, w: Any, b: Any, stride: int, pad: int) -> Any: ...
    def relu(self, x: Any) -> Any: ...
    def max_pool(self, x: Any, kernel: int, stride: int, pad: int, beyond: int) -> Any: ...
    def average_pool(self, x: Any, kernel: int, stride: int) -> Any: ...
    def linear(self, x: Any, w: Any, b: Any) -> Any: ...
    def normalize(self, x: Any, near: int) -> Any: ...
    def dropout(self, x: Any, ratio: float) -> Any: ...
    def side_by_side(self, xs: list[Any]) -> Any: ...
    def add(self, xs: list[Any]) -> Any: ...


def applied(architecture: Architecture, x: Any, calls: Calls) -> Any:
    """The network applied to images x, (n, channels, size, size), by the calls of an engine."""
    heads: list[Any] = []
    *_, (y, _, _) = through(architecture.layers, x, architecture.channels, architecture.size, calls, heads)
    return calls.add([*heads, y]) if heads else y


def through(
    layers: Layers, x: Any, channels: int, size: int, calls: Calls, heads: list[Any]
) -> Iterator[tuple[Any, int, int]]:
    """What each layer makes of what is before it, its channels and its size; `heads` gets the ends of heads."""
    for layer in layers:
        match layer:
            case Conv(filters, kernel, stride, pad):
                x = calls.conv(x, *calls.learned((filters, channels, kernel, kernel)), stride, pad)
                channels, size = filters, (size + 2 * pad - kernel) // stride + 1
            case MaxPool(kernel, stride, pad):
                beyond = -(size + 2 * pad - kernel) % stride
                x = calls.max_pool(x, kernel, stride, pad, beyond)
                size = (size + 2 * pad + beyond - kernel) // stride + 1
            case AveragePool(kernel, stride):
                x = calls.average_pool(x, kernel, stride)
                size = (size - kernel) // stride + 1
            case Linear(outputs):
                x = calls.linear(x, *calls.learned((outputs, channels * size * size)))
                channels, size = outputs, 1
            case Relu():
                x = calls.relu(x)
            case Normalize(near):
                x = calls.normalize(x, near)
            case Dropout(ratio):
                x = calls.dropout(x, ratio)
            case Inception():
                ends = [[*through(way, x, channels, size, calls, heads)][-1] for way in layer.ways()]
                x, channels = calls.side_by_side([end for end, _, _ in ends]), sum(c for _, c, _ in ends)
            case Head(side):
                heads.append([*through(side, x, channels, size, calls, heads)][-1][0])
        yield x, channels, size


class NetCalls:
    """Builds a net.

    Attributes:
        shapes: parameter -> its shape.
    """

    def __init__(self) -> None:
        self.net = Net("convnet")
        self.shapes: dict[str, Shape] = {}

    def _add(self, type: str, inputs: list[str], outputs: int = 1, **args: Any) -> str:
        names = [f"{type.lower()}{len(self.net.ops)}{'' if at == 0 else f'_{at}'}" for at in range(outputs)]
        self.net.add(type, inputs, names, **args)
        return names[0]

    def learned(self, shape: Shape) -> tuple[str, str]:
        names = f"w{len(self.shapes) // 2}", f"b{len(self.shapes) // 2}"
        self.shapes |= zip(names, (shape, shape[:1]), strict=True)
        return names

    def conv(self, x: str, w: str, b: str, stride: int, pad: int) -> str:
        return self._add("Conv", [x, w, b], stride=stride, pad=pad)

    def relu(self, x: str) -> str:
        return self._add("Relu", [x])

    def max_pool(self, x: str, kernel: int, stride: int, pad: int, beyond: int) -> str:
        return self._add("MaxPool", [x], kernel=kernel, stride=stride, pads=[pad, pad, pad + beyond, pad + beyond])

    def average_pool(self, x: str, kernel: int, stride: int) -> str:
        return self._add("AveragePool", [x], kernel=kernel, stride=stride)

    def linear(self, x: str, w: str, b: str) -> str:
        return self._add("FC", [x, w, b])

    def normalize(self, x: str, near: int) -> str:
        return self._add("LRN", [x], 2, size=near, alpha=1e-4 * near, beta=0.75, bias=2.0)

    def dropout(self, x: str, ratio: float) -> str:
        return self._add("Dropout", [x], 2, ratio=ratio)

    def side_by_side(self, xs: list[str]) -> str:
        return self._add("Concat", xs, 2, axis=1)

    def add(self, xs: list[str]) -> str:
        return self._add("Sum", xs)


class VariableCalls:
    """Computes with Variables.

    Args:
        parameters: by name; each network takes them in their order.
    """

    def __init__(self, parameters: dict[str, Variable]) -> None:
        self._next = iter(parameters.values())

    def learned(self, shape: Shape) -> tuple[Variable, Variable]:
        return next(self._next), next(self._next)

    def conv(self, x: Variable, w: Variable, b: Variable, stride: int, pad: int) -> Variable:
        return F.convolution_2d(x, w, b, stride=stride, pad=pad)

    def relu(self, x: Variable) -> Variable:
        return F.relu(x)

    def max_pool(self, x: Variable, kernel: int, stride: int, pad: int, beyond: int) -> Variable:
        return F.max_pooling_2d(x, kernel, stride, pad)

    def average_pool(self, x: Variable, kernel: int, stride: int) -> Variable:
        return F.average_pooling_2d(x, kernel, stride)

    def linear(self, x: Variable, w: Variable, b: Variable) -> Variable:
        return F.linear(x, w, b)

    def normalize(self, x: Variable, near: int) -> Variable:
        return F.local_response_normalization(x, near)

    def dropout(self, x: Variable, ratio: float) -> Variable:
        return F.dropout(x, ratio)

    def side_by_side(self, xs: list[Variable]) -> Variable:
        return F.concat(xs, axis=1)

    def add(self, xs: list[Variable]) -> Variable:
        return sum(xs[1:], xs[0])


def built(architecture: Architecture) -> tuple[Net, str, dict[str, Shape]]:
    """The net that reads the images x, the name of its output, and the shapes of its parameters."""
    calls = NetCalls()
    y = applied(architecture, "x", calls)
    return calls.net, y, calls.shapes


def drawn(shapes: dict[str, Shape], seed: int = 0) -> Iterator[tuple[str, Any]]:
    """A name and numbers for each parameter, float32: weights of variance 1 / inputs, and biases of 0."""
    random = np.random.default_rng(seed)
    for name, shape in shapes.items():
        scale = np.float32(np.prod(shape[1:]) ** -0.5 if len(shape) > 1 else 0)
        yield name, scale * random.standard_normal(shape, np.float32)


class NetEngine:
    """A net and its gradient operators in a workspace."""

    def __init__(self, architecture: Architecture, device: str = "cpu") -> None:
        net, self._y, self.shapes = built(architecture)
        self._forward = Net("forward", list(net.ops))
        self._gradients = net.add_gradient_operators({self._y: "given"})
        self._backward = Net("backward", net.ops[len(self._forward.ops) :])
        self._workspace = Workspace(device=device)
        self.device = self._workspace.device
        for name, array in drawn(self.shapes):
            self._workspace.feed(name, array)

    def give(self, images: Any) -> None:
        """Take images (n, channels, size, size). What an iteration before made is let go."""
        for name in [*self._workspace]:
            if name not in self.shapes:
                del self._workspace[name]
        self._workspace.feed("x", images)

    def forward(self) -> None:
        """Compute y."""
        self._workspace.run(self._forward)

    def seed(self, value: float) -> None:
        """Take `value` for each element as the gradient of y."""
        self._workspace.feed("given", np.full(self._workspace.fetch(self._y, device=None).shape, value, np.float32))

    def backward(self) -> None:
        """Compute the gradients of the parameters and the images."""
        self._workspace.run(self._backward)

    def gradients(self) -> dict[str, Any]:
        """Parameter -> its gradient."""
        return {name: self._workspace[str(self._gradients[name])] for name in self.shapes}


class VariableEngine:
    """Variables, and the backward pass from the last of them.

    Attributes:
        y: what the network made of the images, once it has run.
    """

    y: Variable

    def __init__(self, architecture: Architecture, device: str = "cpu", schedule: str = "rank") -> None:
        self._architecture, self._schedule = architecture, schedule
        _, _, self.shapes = built(architecture)
        self.device = Workspace(device=device).device
        self.parameters = {name: self._there(Variable(array, name=name)) for name, array in drawn(self.shapes)}

    def _there(self, x: Variable) -> Variable:
        """A leaf where the device is."""
        return x if self.device.type == "cpu" else Variable(x.to_gpu(self.device.id).data, name=x.name)

    def give(self, images: Any) -> None:
        """Take images (n, channels, size, size). Gradients of an iteration before are let go."""
        self._x = self._there(Variable(images, name="x"))
        for parameter in self.parameters.values():
            parameter.cleargrad()

    def forward(self) -> None:
        """Compute y."""
        self.y = applied(self._architecture, self._x, VariableCalls(self.parameters))

    def seed(self, value: float) -> None:
        """Take `value` for each element as the gradient of y."""
        self.y.grad = np.full_like(self.y.data, value)

    def backward(self) -> None:
        """Compute the gradients of the parameters and the images."""
        self.y.backward(schedule=self._schedule)

    def gradients(self) -> dict[str, Any]:
        """Parameter -> its gradient."""
        return {name: parameter.grad for name, parameter in self.parameters.items()}


Engine = NetEngine | VariableEngine


def engine_of(name: str, architecture: Architecture, device: str = "cpu") -> Engine:
    """The engine called ``"net"``, ``"rank"`` or ``"tape"``."""
    return NetEngine(architecture, device) if name == "net" else VariableEngine(architecture, device, name)
