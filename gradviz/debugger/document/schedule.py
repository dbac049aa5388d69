"""The part of a trace document that tells what the schedule of a define-by-run pass held, as rows of its changes."""

from __future__ import annotations

from typing import Literal

import msgspec

from .check import Whole

How = Literal["held", "new", "added", "replaced", "dropped"]
"""How ``grad`` of a Variable came to be what it is; held: it was so before the pass."""


class Wait(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stay in the heap; in JSON a list of its fields."""

    function: Whole
    """Index of the forward operator."""
    rank: Whole
    arrival: Whole
    """Of equal ranks, the lower arrival is next."""
    since: Whole
    """From this position on it waits."""
    until: Whole | None = None
    """From this position on it does not; None: it waits until the end of the recording."""


class Grad(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What ``grad`` of a Variable is from one position on; in JSON a list of its fields."""

    variable: str
    at: Whole
    value: str | None
    """A blob version; None: no gradient."""
    how: How


class Pool(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How many names of a pool are in use from one position on, and how many wait to be taken again; a list in JSON."""

    name: str
    """Of what the names are, and in which scope: "tensors: join", "operators"."""
    at: Whole
    in_use: Whole
    free: Whole


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened to the heap, to every ``grad``, and to the pools of names."""

    ranks: list[Whole | None]
    """Of each forward operator; None: it is no function that can go backward."""
    waits: list[Wait] = []
    """In the order in which they began."""
    grads: list[Grad] = []
    """In the order in which they happened."""
    pools: list[Pool] = []
    """In the order in which they changed; the tape schedule alone takes names."""
