"""Ranks: the recordings of a distributed job side by side, before gradients are averaged over them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from os import PathLike
from pathlib import Path

import msgspec
import numpy as np

from .bridges.rank_files import NAME, RankGradients, gradients_of
from .debugger.answers import Answer, Block, Bullets, Grid, Paragraph, digits, first_of, lines_reading
from .debugger.document import Number, number
from .debugger.statistics import norm_of
from .operators.registry import Array
from .program import GradvizError
from .program.code_line import CodeLine
from .program.errors import count_of, listed
from .program.events import Failed
from .program.files import path_of
from .session import Session

SHOWN = 40
"""Rows that a text or HTML shows."""

MOST_COLUMNS = 8
"""Ranks of which each has a column."""

MOST_NAMES = 4
"""That a sentence lists."""


class RankedGradient(msgspec.Struct, frozen=True):
    """The gradient of a leaf, as a parameter, on each rank.

    Attributes:
        name: of the leaf.
        norms: on each rank; None: that has none.
        difference: the greatest between two ranks in an element; None: fewer than two have one.
        relative: the same as a part of the greatest element that a rank has.
    """

    name: str
    norms: list[Number | None]
    difference: Number | None
    relative: Number | None


class RankFinding(msgspec.Struct, frozen=True):
    """What the ranks show together.

    Attributes:
        kind: ``failed``, ``not_finite``, ``unused``, ``no_gradient``, ``differs`` or ``same``.
        sentence: what is there, on which ranks and where.
        names: the leaves that it is about.
        ranks: that it is about.
        module: that the leaves are in; empty: in none, or in several.
        line: of the user's code; None: it is not known.
        harm: whether something does not work; False: a remark.
        ways_out: sentences, each one way to repair it.
    """

    kind: str
    sentence: str
    names: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    module: str = ""
    line: CodeLine | None = None
    harm: bool = True
    ways_out: tuple[str, ...] = ()


class Ranks(Answer, frozen=True, dict=True):
    """The recordings of all ranks of a job: a sequence of sessions, and what they show together.

    Attributes:
        folder: that they were read from.
        gradients: of each leaf that a rank has a gradient of.
        findings: what is harmful first.
    """

    answer = "ranks"
    folder: str
    gradients: list[RankedGradient]
    findings: list[RankFinding]

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions)

    def __getitem__(self, rank: int) -> Session:
        return self._sessions[rank]

    @property
    def _sessions(self) -> list[Session]:
        return self.__dict__["sessions"]  # type: ignore[no-any-return]

    def blocks(self) -> Iterator[Block]:
        count = len(self)
        yield Paragraph(f"{count_of(count, 'rank')}, {count_of(len(self.gradients), 'gradient')}", is_title=True)
        for one in self.findings:
            yield Paragraph(one.sentence if one.harm else f"Remark: {one.sentence}", is_title=one.harm)
            text = [f"{one.line}: {one.line.text}"] if one.line is not None and one.line.text else []
            if text := [*text, *(f"Way out: {way}" for way in one.ways_out)]:
                yield Bullets(text)
        each = count <= MOST_COLUMNS
        norms = [f"rank {rank}" for rank in range(count)] if each else ["least", "greatest"]
        cells = _cells if each else _ends
        rows = first_of(
            self.gradients, SHOWN, lambda one: (one.name, *cells(one.norms), *_cells((one.difference, one.relative)))
        )
        title = "Norms of the gradients before they are averaged, and how far apart elements are at most"
        yield Grid(title, ("gradient of", *norms, "difference", "relative"), rows)


def ranks(folder: str | PathLike[str]) -> Ranks:
    """The recordings that the ranks of a job of ``torch.distributed`` have saved in a folder, side by side.

    On each rank: ``gradviz.debug(loss).save("folder/")``, best with `gradviz.torch.capture` around the forward pass,
    which knows the parameters and the lines.

    Raises:
        GradvizError: ``no_recordings``: there is none. ``missing_rank``: there are not those of all ranks.
            ``bad_name``: one is of a rank that the job did not have.
            ``several_jobs``, ``different_models``: they do not belong together, or a recording and the gradients beside
            it do not. ``bad_file``: gradients cannot be read.
        TraceError: a recording cannot be read; the message names the file.
    """
    files = _files(path_of(folder))
    sessions, gradients_of_ranks = [], []
    for file in files:
        sessions.append(Session.load(file))
        gradients_of_ranks.append(gradients_of(file))
    gradients, not_finite = _compared(gradients_of_ranks), _not_finite(gradients_of_ranks)
    findings = [*_failed(sessions), *not_finite, *_unused(sessions, gradients_of_ranks)]
    findings += _apart(gradients, {name for one in not_finite for name in one.names})
    together = Ranks(str(folder), gradients, sorted(findings, key=lambda one: not one.harm))
    together.__dict__["sessions"] = sessions
    return together


def _files(folder: Path) -> list[Path]:
    """The recording of each rank, from 0."""
    is_there = os.path.isdir(folder)
    named = [(match, path) for path in (folder.iterdir() if is_there else ()) if (match := NAME.fullmatch(path.name))]
    if not named:
        raise GradvizError(
            f"{folder} holds no recordings of ranks." if is_there else f"There is no folder {folder}.",
            kind="no_recordings",
            ways_out=[f'On each rank of the job: gradviz.debug(loss).save("{folder}/").'],
        )
    counts = sorted({int(match[2]) for match, _ in named})
    if len(counts) > 1:
        raise GradvizError(
            f"{folder} holds recordings of several jobs: of {listed([f'{count} ranks' for count in counts])}.",
            kind="several_jobs",
            ways_out=["Keep those of one job, or save each job into a folder of its own."],
        )
    by_rank = {int(match[1]): path for match, path in named}
    if wrong := [path for rank, path in by_rank.items() if rank >= counts[0]]:
        raise GradvizError(
            f"{wrong[0]} is of no rank: those of {counts[0]} begin with 0.",
            kind="bad_name",
            ways_out=["Give the file the name back that session.save gave it, or take it away."],
        )
    if missing := [rank for rank in range(counts[0]) if rank not in by_rank]:
        raise GradvizError(
            f"{folder} holds no recording of {_named(missing)}, of {counts[0]} ranks.",
            kind="missing_rank",
            ways_out=[
                "Copy it here, where each machine has written into a folder of its own.",
                "Look why that rank came to no session.save; gradviz.load reads the recordings of the others.",
            ],
        )
    return [by_rank[rank] for rank in range(counts[0])]


def _compared(per_rank: Sequence[RankGradients]) -> list[RankedGradient]:
    """Every gradient on all ranks; raises GradvizError ``different_models``."""
    parameters = {name for one in per_rank for name in one.parameters}
    names = [dict.fromkeys((*one.gradients, *one.parameters)) for one in per_rank]
    for rank, own in enumerate(names):
        if names[0] and own and names[0].keys().isdisjoint(own):
            raise _different(f"rank {rank} has no parameter of rank 0, such as {next(iter(names[0]))}")
    gradients = []
    for name in dict.fromkeys(name for one in per_rank for name in one.gradients):
        arrays = [one.gradients.get(name) for one in per_rank]
        there = [(rank, array) for rank, array in enumerate(arrays) if array is not None]
        for rank, array in there:
            # What is no parameter is data, of which each rank may have another number of rows.
            if array.shape != there[0][1].shape and (name in parameters or not parameters):
                shapes = f"{there[0][1].shape} on rank {there[0][0]} and {array.shape} on rank {rank}"
                raise _different(f"{name} has the shape {shapes}")
        norms = [None if array is None else number(norm_of(array)) for array in arrays]
        gradients.append(RankedGradient(name, norms, *_difference([array for _, array in there])))
    return gradients


def _difference(arrays: Sequence[Array]) -> tuple[Number | None, Number | None]:
    """How far the elements of some arrays are apart at most, and as a part of the greatest; None: they do not match."""
    if len(arrays) < 2 or len({array.shape for array in arrays}) > 1:
        return None, None
    pairs: Iterable[Sequence[Array]] = combinations(arrays, 2)
    if not any(array.dtype.kind == "c" for array in arrays):
        pairs = [(reduce(np.minimum, arrays), reduce(np.maximum, arrays))]  # the ends of each element's range
    maxima = np.zeros(2)
    with np.errstate(all="ignore"):
        for pair in pairs:
            one, other = (array.astype(np.result_type(array, np.float64)) for array in pair)
            apart = np.where(one == other, 0.0, np.abs(one - other)).max(initial=0.0)  # infinities, too, may be equal
            maxima = np.maximum(maxima, [apart, np.maximum(np.abs(one), np.abs(other)).max(initial=0.0)])
    apart, greatest = maxima.tolist()
    return number(apart), number(apart / greatest) if greatest else 0.0


def _different(why: str) -> GradvizError:
    return GradvizError(
        f"These are recordings of different models: {why}.",
        kind="different_models",
        ways_out=["Save the recordings of one job into a folder of their own."],
    )


def _failed(sessions: Sequence[Session]) -> Iterator[RankFinding]:
    for rank, session in enumerate(sessions):
        if (last := _stopped(session)) is not None:
            sentence = f"The backward pass of rank {rank} stopped: {last.message}"
            yield RankFinding("failed", sentence, tuple(last.blobs), (rank,), ways_out=tuple(last.ways_out))


def _unused(sessions: Sequence[Session], per_rank: Sequence[RankGradients]) -> Iterator[RankFinding]:
    """Parameters that ranks have no gradient of: those of a module together that no loss leads back to, and others."""
    lines = [lines_reading(session._journal) for session in sessions]
    names = dict.fromkeys(name for one in per_rank for name in (*one.parameters, *one.gradients))
    ended = [rank for rank, session in enumerate(sessions) if not _stopped(session)]
    unread = {name: tuple(rank for rank in ended if name not in lines[rank]) for name in names}
    modules: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for name, on in unread.items():
        if on:
            modules[_module(name, unread), on].append(name)
    for (module, on), parameters in modules.items():
        using = next((rank for rank, one in enumerate(lines) if parameters[0] in one), None)
        what, are, them = _some(parameters), *(("is", "it") if len(parameters) == 1 else ("are", "them"))
        what += f" of the module {module}" if module else ""
        line = None if using is None else lines[using][parameters[0]]
        if using is None:
            sentence = f"On every rank {what} {are} unused: no loss leads back to {them}."
            way_out = f"Use {them} in forward, take {them} out of the model, or say requires_grad_(False)."
        else:
            sentence = f"On {_named(on)} {what} {are} unused: no loss leads back to {them}."
            sentence += f" On rank {using} one does{f', in {line}' if line else ''}."
            way_out = f"Use {them} on every rank in each step, outside of torch.no_grad() and without detach()."
        ways_out = (way_out, "DistributedDataParallel waits for every gradient: say find_unused_parameters=True.")
        yield RankFinding("unused", sentence, tuple(parameters), on, module, line, ways_out=ways_out)
    for rank in ended:
        if without := [name for name in lines[rank] if name in unread and name not in per_rank[rank].gradients]:
            sentence = f"Rank {rank} used {_some(without)}, and no gradient came: ranks[{rank}].why_none says why."
            yield RankFinding("no_gradient", sentence, tuple(without), (rank,), line=lines[rank][without[0]])


def _stopped(session: Session) -> Failed | None:
    """With what a backward pass stopped, as its last event."""
    last = session.events[-1] if len(session) else None
    return last if isinstance(last, Failed) else None


def _module(name: str, unread: dict[str, tuple[int, ...]]) -> str:
    """The outermost module of a parameter of which the same ranks used nothing; else the one that it is in."""
    parts = name.split(".")[:-1]
    for depth in range(1, len(parts) + 1):
        path = ".".join(parts[:depth])
        if all(on == unread[name] for other, on in unread.items() if other.startswith(f"{path}.")):
            return path
    return ".".join(parts)


def _not_finite(per_rank: Sequence[RankGradients]) -> list[RankFinding]:
    on: dict[str, list[int]] = defaultdict(list)
    for rank, one in enumerate(per_rank):
        for name, array in one.gradients.items():
            if not np.isfinite(array).all():
                on[name].append(rank)
    together: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, ranks in on.items():
        together[tuple(ranks)].append(name)
    return [
        RankFinding(
            "not_finite",
            f"On {_named(where)} the gradient of {_some(names)} is not finite: "
            f"ranks[{where[0]}] shows where that was born.",
            tuple(names),
            where,
        )
        for where, names in together.items()
    ]


def _apart(gradients: Sequence[RankedGradient], not_finite: Collection[str]) -> Iterator[RankFinding]:
    """How far the ranks are apart, as they should be: each has data of its own."""
    compared = [one for one in gradients if one.difference is not None and one.name not in not_finite]
    apart = [one for one in compared if one.difference != 0]
    if apart:
        most = max(apart, key=lambda one: float(one.relative or 0))
        differ = f"{count_of(len(apart), 'gradient')} of {len(compared)} {'differs' if len(apart) == 1 else 'differ'}"
        sentence = (
            f"{differ} between ranks before they are averaged, most that of {most.name}: by {digits(most.difference)}, "
            f"{digits(most.relative)} times its largest element."
        )
        names = tuple(one.name for one in apart)
        yield RankFinding("differs", sentence, names, tuple(range(len(most.norms))), harm=False)
    elif compared and all(one.difference == 0 and None not in one.norms for one in gradients):
        sentence = "All ranks have the same gradients, number for number: do they read the same data?"
        ways_out = ("Give each rank a part of its own, as torch.utils.data.DistributedSampler does.",)
        yield RankFinding("same", sentence, tuple(one.name for one in compared), harm=False, ways_out=ways_out)


def _named(some: Sequence[int]) -> str:
    """``rank 1``, ``ranks 1 and 2``."""
    return f"{'rank' if len(some) == 1 else 'ranks'} {listed(list(map(str, some)))}"


def _some(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= MOST_NAMES else f"{count_of(len(names), 'parameter')}, as {names[0]},"


def _cells(norms: Sequence[Number | None]) -> list[str]:
    return [digits(one, "none") for one in norms]


def _ends(norms: Sequence[Number | None]) -> list[str]:
    """The least and the greatest norm, each with its rank, and how many there are not."""
    there = [(length, rank) for rank, length in enumerate(norms) if length is not None]
    there.sort(key=lambda one: (one[0] == "nan", 0.0 if one[0] == "nan" else float(one[0])))  # a NaN is the greatest
    least, greatest = (f"{digits(length)} on rank {rank}" for length, rank in (there[0], there[-1]))
    return [least, greatest if len(there) == len(norms) else f"{greatest}, none on {len(norms) - len(there)}"]
