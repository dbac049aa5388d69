"""Why a store cannot give an array back, or cannot be made."""

from pathlib import Path

from ..program import GradvizError


class StoreError(GradvizError):
    """A budget, a folder or a kept array that cannot be used.

    ``kind`` is ``bad_budget``, ``bad_spill``, ``lost`` (a file is gone or damaged) or ``not_repeatable`` (an operator
    that ran again made something else).
    """


RECORD_AGAIN = "Record it again with gradviz.debug, with a larger budget or without one."


def bad_spill(what: str, *ways_out: str) -> StoreError:
    """Arrays cannot be written where it was asked for."""
    return StoreError(what, kind="bad_spill", ways_out=ways_out)


def lost(path: Path, why: str) -> StoreError:
    """A file does not hold what was written to it."""
    return StoreError(
        f"An array was written to {path} to save memory, and cannot be read back: {why}.",
        kind="lost",
        ways_out=["Leave the files of a recording alone while it is in use.", RECORD_AGAIN],
    )


def not_repeatable(what: str, why: str) -> StoreError:
    """Running an operator again does not give the array that it gave."""
    return StoreError(
        f"An array that {what} made was dropped to save memory, and running it again {why}.",
        kind="not_repeatable",
        ways_out=[
            "Register the kernel without repeatable=True if it is one of yours: what it makes is then kept.",
            'Give a folder for files: gradviz.debug(..., spill="folder").',
            RECORD_AGAIN,
        ],
    )
