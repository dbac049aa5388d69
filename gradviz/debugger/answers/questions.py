"""The questions that can be put to a recording at a position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..journal import Pace, Work
from ..steering import Placed, consistent, whole_number
from . import check, code, copies, diff, ledger, numbers, paths, provenance, state, store, versions, why_none
from .check import CheckableView, CheckView
from .code import CodeView
from .copies import CopiesView
from .diff import DiffView
from .ledger import LedgerView, MergeView
from .net_view import NetView
from .numbers import NumbersView
from .paths import PathsView
from .provenance import FACTOR, ProvenanceView
from .recorded import Recorded
from .state import StateView
from .store import StoreView
from .versions import VersionsView
from .why_none import WhyNoneView

Question = TypeVar("Question", bound=Callable[..., Any])


def asked(question: Question) -> Question:
    """A question of `Questions`.

    A document from a file may contradict itself in ways that only an answer meets. What operators do to numbers when
    they are run again, as when they were recorded, is no cause for warnings of numpy: the answer tells of it.
    """

    @wraps(question)
    def ask(questions: Questions, *args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return question(questions, *args, **kwargs)

    return cast(Question, consistent(ask))


class Questions(Placed):
    """What a cursor can be asked; each answer is frozen data with a text, an HTML form, and `to_dict` for JSON.

    A blob is asked for by its name or a version (``"x@1"``). In a nested net it is looked for there first, then around
    it; a path before a colon says which net or which run of it is meant: ``"2.loop_net[3]/0.net:x@1"``;
    a colon alone, the outermost net.
    """

    @cached_property
    def _recorded(self) -> Recorded:
        return Recorded(self._journal, self._measured, self._recorded_values)

    @asked
    def at(self, position: int) -> Questions:
        """The same questions, asked at another position: this cursor stays, and no observer is told of a move.

        Raises:
            CursorError: ``bad_argument`` when there is no such position.
        """
        position = whole_number("position", position, f"a position from 0 to {len(self)}", 0, len(self))
        elsewhere = Questions.__new__(Questions)
        elsewhere.__dict__.update(self.__dict__, _recorded=self._recorded, _position=position)
        return elsewhere

    @property
    @asked
    def blobs(self) -> list[str]:
        """The names of the blobs of the net that we are in, and of those around it, as they come in the program."""
        here = self._here
        return list(dict.fromkeys(name for view in (here, *here.around()) for name in view.names()))

    @property
    def _here(self) -> NetView:
        """The net that we are in, or the run of it."""
        recording, position = self._recorded.recording, self._position
        return NetView(self._recorded, position, recording.net_after(position), recording.run_after(position))

    @contextmanager
    def _pace(self, work: Work = "answer") -> Iterator[Pace]:
        """For a question that looks through everything, which may take long: tells how far it is."""
        with self._waiting() as progress:
            yield Pace(progress, work)

    @asked
    def ledger(self, blob: str) -> LedgerView:
        """What was added up to the gradient of `blob`: each contribution with norm, share, cosine, producer and path.

        A gradient that came alone is one contribution. Of a blob that every iteration of a loop reads, each
        contributes.

        Args:
            blob: a name or a version, or the version of the sum. Of several ledgers the last one made by now is meant,
                before any the first.

        Raises:
            CursorError: ``not_found`` when there is no such blob, or no gradient of it arrived.
        """
        return ledger.answer(self._here, blob)

    @asked
    def rows(self, blob: str) -> MergeView:
        """How the rows of equal index in the sparse gradient of `blob` were merged: which repeated, how many are left.

        Args:
            blob: a name or a version.

        Raises:
            CursorError: ``not_found`` when no rows of a gradient of this blob were merged.
        """
        return ledger.rows(self._recorded, blob)

    @asked
    def why_none(self, blob: str) -> WhyNoneView:
        """Why `blob` has no gradient: what cuts each way from it to a y; that none is there yet; or where it has one.

        Args:
            blob: a version; of a name the earliest version that gets a gradient, else its first one.

        Raises:
            CursorError: ``not_found`` when there is no such blob.
        """
        return why_none.answer(self._here, blob)

    @asked
    def paths(self, y: str, x: str | None = None, k: int = 5) -> PathsView:
        """How a gradient comes from `y` to `x`: how many paths there are, and the `k` along which the most flows.

        What flows along a path is the gradient that would arrive at x if it were the only one. The parts of all paths
        add up to the gradient. Operators with nested nets count as one step; ask in the nested net for the paths there.

        Args:
            y: where the paths start: a y, from its seed, or another blob, from the gradient that arrives there. With
                one blob alone, as in ``paths("x")``, that is x, and the paths start from all ys.
            x: a version; of a name the earliest version that gets a gradient.

        Raises:
            CursorError: ``not_found``, ``bad_argument``.
        """
        start, end = (None, y) if x is None else (y, x)
        with self._pace() as pace:
            return paths.answer(self._here, start, end, k, pace)

    @asked
    def provenance(self, blob: str, what: str | None = None, *, factor: float = FACTOR) -> ProvenanceView:
        """Where a fault of `blob` was born: the first operator that computed it from inputs that were fine.

        Args:
            blob: a version; of a name the last one that was computed.
            what: ``"nan"``, ``"inf"``, ``"zero"`` (all elements), ``"explosion"`` (a norm that grew); None: the first
                of these that is there.
            factor: by how much a norm must have grown on the way to count as an explosion.

        Raises:
            CursorError: ``not_found``, ``not_computed``, ``bad_argument``.
        """
        return provenance.answer(self._here, blob, what, factor)

    @asked
    def check(self, op_or_blob: str, *, samples: int | None = None, executor: Any = None) -> CheckView:
        """Whether a gradient is right, by finite differences with the gradients and values that were recorded.

        Of an operator, what its rule sent to each input is compared with differences of its kernel, with the gradient
        that arrived at its outputs; by a complex step where the kernel is analytic. Of a blob, its whole gradient is
        compared with differences of the program, run again from there to the ys.

        Args:
            op_or_blob: ``"#3"``, in a nested net ``"2.loop_net[3]/0.net:#3"``; or a version, of a name the earliest
                version that gets a gradient; or ``"all"``: the gradients of all that the program is given.
            samples: about how many elements are checked, in all: more of larger blobs, drawn from a seed. None: 64 of
                each blob.
            executor: runs it in tasks of a fraction of a second, on other cores or machines: one of
                `concurrent.futures`, or alike, as Dask's ``client.get_executor()``. With as many threads of linear
                algebra there as here, the answer is the same to the bit. None: all is done here.

        Raises:
            CursorError: ``not_found``, ``not_computed``, ``bad_argument``.
            GradvizError: ``bad_executor``: it takes no tasks, or what is to be run again is PyTorch's;
                ``not_sendable``: its processes cannot be sent a kernel of yours.
        """
        with self._pace("check") as pace:
            return check.answer(self._here, op_or_blob, samples, executor, pace)

    @asked
    def checkable(self, op_or_blob: str) -> CheckableView:
        """Whether `check` can say something of an operator or blob, and if not why: nothing is compared.

        Raises:
            CursorError: ``not_found``, ``not_computed``.
        """
        return check.checkable(self._here, op_or_blob)

    @asked
    def versions(self, blob: str) -> VersionsView:
        """Of each version of `blob` who wrote it, who reads it, who still needs it, and what its gradient is by now.

        Raises:
            CursorError: ``not_found`` when there is no such blob.
        """
        return versions.answer(self._here, blob)

    @asked
    def numbers(self, blob: str, row: int = 0, column: int = 0) -> NumbersView:
        """A page of the numbers of `blob`, seen as a table whose rows lie along the last axis.

        Args:
            blob: a version; of a name the last one that was computed.
            row, column: where the page begins, from 0.

        Raises:
            CursorError: ``not_found``, ``not_computed``, ``bad_argument``.
        """
        return numbers.answer(self._here, blob, row, column)

    @asked
    def diff(self, a: int, b: int | None = None) -> DiffView:
        """What changed between positions `a` and `b`, None: this one: operators, names, gradients, the map, values.

        Raises:
            CursorError: ``bad_argument`` when there is no such position.
        """
        with self._pace() as pace:
            return diff.answer(self._here, a, b, pace)

    @asked
    def code(self) -> CodeView:
        """The user's code, a table for each cell or file, with the norm of the gradient of what each line made.

        That is the gradient of what the last operator of the line made, and that gets one; in a loop, of its last run
        by now. The current line is marked. Of a large file only the functions around those lines are there.
        """
        return code.answer(self._here, self._subjects)

    @asked
    def store(self) -> StoreView:
        """Where the values are, in memory or in a file: how many, and how many bytes.

        Raises:
            CursorError: ``not_computed`` when the recording was read from a file.
        """
        return store.answer(self._live)

    @asked
    def copies(self) -> CopiesView:
        """What the recorded program copied from one device to another: from where, whereto, how many bytes, by whom."""
        with self._pace() as pace:
            return copies.answer(self._recorded, pace)

    @asked
    def state(self) -> StateView:
        """The state of the engine here, in the nested net that we are in, and what the last event changed in it."""
        with self._pace() as pace:
            return state.answer(self._here, pace)
