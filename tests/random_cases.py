"""Random cases: how many, and their seeds, new ones each run, which a failure prints and the environment can set."""

import os
from secrets import randbits

import pytest


def fresh_seed() -> int:
    """``GRADVIZ_SEED`` where it is set, else a random number, which pytest shows where the test fails."""
    seed = int(os.environ.get("GRADVIZ_SEED") or randbits(32))
    print(f"GRADVIZ_SEED={seed}")
    return seed


def counts(all: int) -> pytest.MarkDecorator:
    """The argument `count` of a test that draws so many cases: a quarter of `all`, and in the slow set `all`."""
    return pytest.mark.parametrize(
        "count", [pytest.param(all // 4, id="few"), pytest.param(all, id="all", marks=pytest.mark.slow)]
    )
