"""Models of every kind, small, each with what is fed to it: `MODELS` makes a model and its loss anew at each call."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x.flatten(1))))))


class BasicBlock(nn.Module):
    def __init__(self, before, after, stride, inplace=True):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=inplace)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        h = self.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        h += x if self.downsample is None else self.downsample(x)
        return self.relu(h)


class ResNet18(nn.Module):
    def __init__(self, width=64, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        for number in range(1, 5):
            before, after = widths[number - 1], widths[number]
            first = BasicBlock(before, after, 1 if number == 1 else 2)
            setattr(self, f"layer{number}", nn.Sequential(first, BasicBlock(after, after, 1)))
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = F.max_pool2d(self.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).split(width, -1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        shares = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return self.out((shares @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, layers=4, width=32, heads=4, words=65, length=64, tied=False):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, indices):
        x = self.words(indices) + self.places(torch.arange(indices.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(5, 7, num_layers=2, batch_first=True), nn.Linear(7, 2)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


class Bag(nn.Module):
    """Embeddings with sparse gradients, read twice."""

    def __init__(self):
        super().__init__()
        self.table, self.fc = nn.Embedding(20, 6, sparse=True), nn.Linear(6, 2)

    def forward(self, indices):
        return self.fc(self.table(indices).mean(1) * self.table(indices.flip(1)).sum(1))


class Through(torch.autograd.Function):
    """No operator of PyTorch is called in it."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class PolarFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        r, angle = torch.hypot(x, y), torch.atan2(y, x)
        ctx.save_for_backward(x, y, r)
        return r, angle

    @staticmethod
    def backward(ctx, gr, gangle):
        x, y, r = ctx.saved_tensors
        return gr * x / r - gangle * y / r**2, gr * y / r + gangle * x / r**2


class Polar(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        r, angle = PolarFunction.apply(self.fc1(x), self.fc2(x))
        return torch.stack([r.sum(1), (r * angle).sum(1)], 1)


class Checkpointed(nn.Module):
    def __init__(self, *, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)
        self.middle = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 8))

    def forward(self, x):
        h = torch.tanh(self.first(x))
        return self.last(h + checkpoint(self.middle, h, use_reentrant=self.reentrant))


def classified(model: nn.Module, *shape: int, classes: int = 2) -> tuple[nn.Module, Tensor]:
    """A model and its loss on noise."""
    return model, F.cross_entropy(model(torch.randn(*shape)), torch.randint(classes, shape[:1]))


def spoken(model: nn.Module, batch: int = 2, length: int = 12) -> tuple[nn.Module, Tensor]:
    """A language model and its loss on random words."""
    words = torch.randint(65, (batch, length + 1))
    logits = model(words[:, :-1])
    return model, F.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))


def penalised() -> tuple[nn.Module, Tensor]:
    """The norm of the gradient of the input is a part of the loss."""
    model, x = mlp(), torch.randn(4, 6, requires_grad=True)
    loss = F.cross_entropy(model(x), torch.tensor([0, 1, 1, 0]))
    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
    return model, loss + slope.square().sum()


def mixed() -> tuple[nn.Module, Tensor]:
    """bfloat16 by autocast."""
    model = Block(16, 2)
    with torch.autocast("cpu", torch.bfloat16):
        return model, model(torch.randn(2, 5, 16)).float().square().mean()


def curved() -> tuple[nn.Module, Tensor]:
    """The second derivatives of the input, by function transforms: some gradients are zeros without memory."""
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1, bias=False)), torch.randn(2, 3)
    parameters = dict(model.named_parameters())

    def value(point: Tensor) -> Tensor:
        return torch.func.functional_call(model, parameters, (point[None],)).squeeze()

    return model, torch.func.vmap(lambda point: torch.func.hessian(value)(point).diagonal().sum())(x).square().mean()


MODELS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "MLP": lambda: classified(mlp(), 5, 6),
    "LeNet": lambda: classified(LeNet(), 3, 1, 28, 28, classes=10),
    "ResNet-18": lambda: classified(ResNet18(8), 2, 3, 32, 32, classes=10),
    "transformer block": lambda: classified(nn.Sequential(Block(16, 2), nn.Flatten(), nn.Linear(80, 2)), 3, 5, 16),
    "LSTM": lambda: classified(Recurrent(), 3, 4, 5),
    "GPT": lambda: spoken(GPT()),
    "tied GPT": lambda: spoken(GPT(2, tied=True)),
    "sparse embedding": lambda: _bag(),
    "Function with two outputs": lambda: classified(Polar(), 3, 4),
    "checkpoint": lambda: classified(Checkpointed(reentrant=False), 3, 4),
    "reentrant checkpoint": lambda: classified(Checkpointed(reentrant=True), 3, 4),
    "double backward": penalised,
    "mixed precision": mixed,
    "second derivatives": curved,
}
"""Each with a loss."""


def _bag() -> tuple[nn.Module, Tensor]:
    model = Bag()
    return model, F.cross_entropy(model(torch.randint(20, (4, 5))), torch.tensor([0, 1, 1, 0]))
