"""Random nets as a hypothesis strategy: a net, what to feed it, and what to differentiate."""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from gradviz import GradientSlice, Net
from gradviz.program import Gradient

from .call import Call
from .draft import Draft
from .left_out import may_be_written_over
from .pick import NothingFits, Pick
from .themes import FAMILIES, Theme

MOST_OPERATORS = 14
ATTEMPTS = 10
"""How many calls are tried for one operator before it becomes a Tanh."""


Ys = list[str] | dict[str, Gradient | None]


class RandomNet(NamedTuple):
    """A net and what to do with it.

    Attributes:
        feeds: its inputs.
        given: the gradients that `ys` names, as far as they are no blobs of the net.
    """

    net: Net
    feeds: dict[str, np.ndarray]
    ys: Ys
    given: dict[str, np.ndarray]
    skip: int

    @property
    def starts(self) -> dict[str, Gradient | None]:
        """The ys as a dict: what the pass starts from at each."""
        return self.ys if isinstance(self.ys, dict) else dict.fromkeys(self.ys)

    def __repr__(self) -> str:
        """The program as a person reads it, for hypothesis to show."""
        fed = [f"{name}: {array.dtype} {array.shape} {array.tolist()}" for name, array in self.feeds.items()]
        fed += [f"{name} (given gradient): {array.tolist()}" for name, array in self.given.items()]
        return "\n".join([str(self.net), f"ys={self.ys} skip={self.skip}", *fed])


class Gene(NamedTuple):
    """One operator: how it names its outputs, from 0 (new names) to 99, and the seed of all else."""

    naming: int
    seed: int


LEFT_OUT, PLAIN = 0, 1
"""What hypothesis may make of an operator: leave it out, or give its outputs new names. Else it is as it comes."""

SEED_BYTES = 4


def random_nets(theme: Theme) -> st.SearchStrategy[RandomNet]:
    """Nets of a theme, of 1 to `MOST_OPERATORS` operators.

    They are drawn as one string of bytes, which hypothesis fills at random and neither cuts short nor repeats in parts.
    The first bytes are a seed, from which all follows. To make a net smaller hypothesis has one more byte for each
    operator and for the ys; what the other operators read and write then changes as little as it can.
    """
    size = SEED_BYTES + MOST_OPERATORS + 1
    return st.binary(min_size=size, max_size=size).map(lambda drawn: decoded(theme, drawn))


def decoded(theme: Theme, drawn: bytes) -> RandomNet:
    """The net that a string of bytes stands for."""
    rng = random.Random(int.from_bytes(drawn[:SEED_BYTES]))
    genes = [Gene(rng.randrange(100), rng.randrange(10_000)) for _ in range(rng.randint(1, MOST_OPERATORS))]
    ys_seed = rng.randrange(10_000)
    *shares, share_of_ys = drawn[SEED_BYTES:]
    kept = [
        gene if share > PLAIN else gene._replace(naming=0)
        for gene, share in zip(genes, shares, strict=False)
        if share != LEFT_OUT
    ]
    return grown(theme, kept, ys_seed if share_of_ys else 0)


def grown(theme: Theme, genes: Sequence[Gene], ys_seed: int) -> RandomNet:
    """The net that the genes stand for; with `ys_seed` 0 its last output is the only y."""
    draft = Draft()
    for naming, seed in genes:
        add_operator(draft, theme, naming_of(theme, naming), seed)
    if not draft.names():
        pick = Pick(draft, 0)
        draft.add(Call("Tanh", [pick.floats()]), pick, "new")
    net = RandomNet(Net("random", draft.operators), draft.feeds, draft.names()[-1:], {}, 0)
    if not ys_seed:
        return net
    rng = random.Random(ys_seed)
    skip = rng.randrange(len(draft.operators)) if rng.random() < theme.skips / 100 else 0
    if rng.random() < theme.plain_ys / 100:
        return net._replace(ys=draft.results() or net.ys, skip=skip)
    ys, given = draw_ys(draft, rng)
    return net._replace(ys=ys, given=given, skip=skip)


def naming_of(theme: Theme, number: int) -> str:
    """New names for the low numbers, so that hypothesis prefers them; the shares of the others from 99 down."""
    ends = accumulate(theme.naming.values())
    return next((naming for naming, end in zip(theme.naming, ends, strict=True) if number >= 100 - end), "new")


def add_operator(draft: Draft, theme: Theme, naming: str, seed: int) -> None:
    """Append an operator of a family drawn by the weights of the theme."""
    chosen = random.Random(seed)
    families = chosen.choices(list(theme.all_weights), list(theme.all_weights.values()), k=ATTEMPTS)
    for attempt, family in enumerate(families):
        pick = Pick(draft, seed, attempt)
        with suppress(NothingFits):
            if draft.add(pick.one_of(FAMILIES[family])(pick), pick, naming):
                return
    pick = Pick(draft, seed)
    draft.add(Call("Tanh", [pick.floats()]), pick, naming)


def draw_ys(draft: Draft, rng: random.Random) -> tuple[Ys, dict[str, np.ndarray]]:
    """One to four ys: results as a rule, intermediate blobs, inputs, and now and then one of integers."""
    names = draft.names() if rng.random() < 0.95 else list(draft.values)
    ys = list(dict.fromkeys(rng.choice(draft.results() or names) for _ in range(rng.randint(1, 3))))
    if rng.random() < 0.6:
        ys.append(rng.choice(names))
        ys = list(dict.fromkeys(ys))
    if rng.random() < 0.3:
        return (ys * 2 if rng.random() < 0.1 else ys), {}
    given: dict[str, np.ndarray] = {}
    return {y: start_of(draft, y, rng, given) for y in ys}, given


def start_of(draft: Draft, y: str, rng: random.Random, given: dict[str, np.ndarray]) -> Gradient | None:
    """What the pass starts from at `y`: ones, an array or slice added to `given`, one given before, or a blob."""
    shape, roll = draft.values[y].shape, rng.random()
    alike = [name for name, array in given.items() if array.shape == shape and array.dtype == np.float64]
    alike += [name for name in draft.names() if name != y and draft.values[name].shape == shape]
    alike = [name for name in alike if not may_be_written_over(name, y, draft.overwritten)]
    if roll < 0.3:
        return None
    if roll < 0.4 and alike:
        return rng.choice(alike)
    if roll < 0.6 and shape:
        rows = [rng.randrange(shape[0]) for _ in range(rng.randint(1, 3))]
        indices, values = (new_name(draft, y, rng, given, half) for half in ("_indices", "_values"))
        given[indices] = np.array(rows)
        given[values] = numbers(rng, (len(rows), *shape[1:]))
        return GradientSlice(indices, values)
    name = new_name(draft, y, rng, given, "")
    given[name] = numbers(rng, shape)
    return name


def new_name(draft: Draft, y: str, rng: random.Random, given: Mapping[str, np.ndarray], half: str) -> str:
    """A name for a given gradient; some are those that generated gradients would like to have."""
    other = rng.choice(list(draft.values))
    generated = (f"{y}_grad", f"{other}_grad", f"{y}_autogen_grad", f"_{other}_grad_autosplit_0")
    wishes = [f"{name}{half}" for name in ("dy", f"given_{y}", *generated)]
    name = rng.choice([name for name in wishes if not may_be_written_over(name, y, draft.overwritten)])
    while name in given or name in draft.values:
        name = f"+{name}"
    return name


def numbers(rng: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    return np.array([rng.uniform(-2.0, 2.0) for _ in range(int(np.prod(shape)))]).reshape(shape)
