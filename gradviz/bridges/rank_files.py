"""The files of the ranks of a distributed job in a folder: of each its recording, and the gradients of its leaves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zipfile import is_zipfile

import msgspec
import numpy as np

from ..debugger import Recording
from ..debugger.answers import leaf_gradients
from ..debugger.document import ENDING
from ..operators.registry import Array
from ..program import GradvizError
from . import bridge_in_use

NAME = re.compile(r"rank-(0|[1-9]\d*)-of-([1-9]\d*)" + re.escape(ENDING))


class RankGradients(NamedTuple):
    """What a rank computed.

    Attributes:
        gradients: those of its leaves, by their names.
        parameters: that its captured model wants gradients of; empty where none was captured.
    """

    gradients: Mapping[str, Array]
    parameters: list[str]


def recording_of_rank(folder: Path) -> Path:
    """The file for the recording of this process in a folder: ``rank-0-of-2.gradviz.json``.

    Raises:
        GradvizError: ``no_rank``: this process has none.
    """
    torch = bridge_in_use("torch")
    rank = None if torch is None else torch.rank()
    if rank is None:
        raise GradvizError(
            f"{folder} is a folder, and this process has no rank to name a file in it by.",
            kind="no_rank",
            ways_out=[
                f'Name a file: session.save("{folder / "first"}{ENDING}").',
                "In a distributed job call torch.distributed.init_process_group first.",
            ],
        )
    number, count = rank
    return folder / f"rank-{number}-of-{count}{ENDING}"


def gradients_beside(recording: Path) -> Path:
    """The file of the gradients that belong to a recording."""
    return recording.with_name(recording.name.removesuffix(ENDING) + ".npz")


def packed(recording: Recording, content: bytes) -> bytes:
    """The gradients of a recording as the file beside that of `content` has them."""
    gradients, torch = leaf_gradients(recording), bridge_in_use("torch")
    parameters = [] if torch is None else torch.parameters_beside(recording)
    buffer = BytesIO()
    names, of = np.array([*gradients], str), np.array([sha256(content).hexdigest()])
    np.savez(buffer, *gradients.values(), names=names, parameters=np.array(parameters, str), of=of)
    return buffer.getvalue()


def gradients_of(recording: Path) -> RankGradients:
    """The gradients in the file beside a recording.

    Raises:
        GradvizError: ``bad_file``: it is not there, cut off, or none of this kind. ``several_jobs``: it is that of
            another recording.
    """
    path = gradients_beside(recording)
    try:
        if path.exists() and not is_zipfile(path):  # numpy would call it a pickle, and say how to load that
            raise ValueError("it is cut off, or was written by another program")
        with path.open("rb") as opened, np.load(opened) as file:
            of = file["of"].tolist() if "of" in file else []  # older files have none
            names, parameters = msgspec.convert([file["names"].tolist(), file["parameters"].tolist()], list[list[str]])
            rank_gradients = RankGradients({name: file[f"arr_{at}"] for at, name in enumerate(names)}, parameters)
            if wrong := [name for name, array in rank_gradients.gradients.items() if array.dtype.kind not in "biufc"]:
                raise ValueError(f"the gradient of {wrong[0]} is no array of numbers")
    except Exception as error:  # of what is damaged numpy and zipfile raise anything
        raise GradvizError(
            f"{path} cannot be read: {error}.".replace("..", "."),
            kind="bad_file",
            ways_out=["It holds the gradients of this rank: copy it here again, or save the session again."],
        ) from error
    if of and of != [sha256(recording.read_bytes()).hexdigest()]:
        raise GradvizError(
            f"{path} holds the gradients of another recording than {recording.name}, which is beside it.",
            kind="several_jobs",
            ways_out=["Copy both files of this rank here again, from one job, or save the session again."],
        )
    return rank_gradients
