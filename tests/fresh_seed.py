"""Seeds of random tests: a new one each run, which a failure prints and the environment can give again."""

import os
from secrets import randbits


def fresh_seed() -> int:
    """``GRADVIZ_SEED`` where it is set, else a random number, which pytest shows where the test fails."""
    seed = int(os.environ.get("GRADVIZ_SEED") or randbits(32))
    print(f"GRADVIZ_SEED={seed}")
    return seed
