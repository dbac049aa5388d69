"""Session: what a person debugs with. A cursor over a recording, with every way to look at it.

Recording and stepping draw and write nothing: what does is imported when it is asked for.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack, overload

import msgspec

from . import bridges, notebook
from .bridges.rank_files import gradients_beside, packed, recording_of_rank
from .debugger import CursorError, Recording
from .debugger.document import MOST_EVENTS, Trace, decode_with_events, encode, encode_packed
from .debugger.journal import Budget, Folder, Progress, bytes_of, record_any
from .debugger.steering import unpacked_recording
from .debugger.telling import Parts, outline
from .eager import Variable
from .gradient import Ys
from .gradient.rules import with_names
from .net import Net
from .notebook import ANSWERS, BUDGET
from .notebook.pausing import pause
from .notebook.progress import shown_progress
from .notebook.session_protocol import Advancing, Shown, Wait
from .program import NetDef, NetError, Operator
from .program.events import Aggregator, Event
from .program.files import about, path_of, read_whole, write_together, write_whole
from .program.operator import check_text, parts_of
from .runtime import Workspace
from .runtime.watched import uncollected

if TYPE_CHECKING:
    import graphviz

    from .drawing import Opened, Theme
    from .notebook.cells import Written
    from .notebook.inserting import Of


MOST_SHOWN = 30_000
"""Events; of larger recordings the widget shows parts."""

NEAR_EVENTS = 9
NEAR_OPERATORS = 3
"""At least, of what is near."""


class Session(Shown):
    """Steps through the generation of a backward pass and its execution, forward and back in time.

    In a notebook a session shows itself as a widget; its verbs move every widget that shows it.

    Attributes:
        id: a short string that tells this session from others of the kernel.
        wait: whether a cell waits at this session, see `pause`; ``wait.end()`` lets it go on.
    """

    def __init__(
        self, trace: Trace | None, recording: Recording | None = None, events: Sequence[Event] | None = None
    ) -> None:
        super().__init__(trace, recording, events)
        self.id = os.urandom(4).hex()
        self.wait = Wait()
        self._part: Trace | None = None
        self._options: dict[str, Any] = {}
        self._ssa: Session | None = None
        self._pass: Callable[[], Advancing | None] = lambda: None
        notebook.announce(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The session in a ``*.gradviz.json`` file that `save` wrote.

        It steps and answers as the saved one did; of the values it has the statistics. Nothing in the file is executed.

        Raises:
            FileError: it cannot be read. TraceError: it is cut off, of a newer version, or no trace.
        """
        data = read_whole(path)
        with about(path):
            trace, events, ran = decode_with_events(data)
            del data  # of a large recording it is as large
            if trace.events or not events:
                return cls(trace, events=events)
            return cls(None, unpacked_recording(trace, events, ran))

    def save(self, path: str | Path) -> None:
        """Write the trace document, picture included, to `path` (by custom ``*.gradviz.json``), whole or not at all.

        Of a recording of more than 100 000 events the file has events and numbers alone, packed: `load` reads it, and
        views without Python say so.

        A `path` that is a folder, or ends with a slash, is for the ranks of a job of ``torch.distributed``: each writes
        ``rank-0-of-2.gradviz.json`` into it, and the gradients of its leaves beside that, for `gradviz.ranks`.

        Raises:
            FileError: it cannot be written. GradvizError: ``no_rank``: it is a folder, and this process has no rank.
            CursorError: ``not_computed``: it is a folder, and the session was read from a file, without gradients.
        """
        file = path_of(path)
        is_of_rank = str(path).endswith(("/", os.sep)) or os.path.isdir(file)
        if is_of_rank:
            file = self._file_of_rank(file)
        content = self._encoded()
        files: dict[str | os.PathLike[str], bytes] = {file: content}
        if is_of_rank and self._live is not None:
            files[gradients_beside(file)] = packed(self._live, content)
        write_together(files)

    def _encoded(self) -> bytes:
        if self._recording is None or len(self) <= MOST_EVENTS:
            return encode(self.trace())
        with uncollected():
            trace = self._marked(outline(self._recording))
            return encode_packed(trace, *self._recording.noted)

    def _file_of_rank(self, folder: Path) -> Path:
        """Where the recording is to be whose gradients `ranks` compares."""
        path = recording_of_rank(folder)
        if self._live is None:
            raise CursorError(
                "A session that was read from a file has no gradients to compare with those of other ranks.",
                kind="not_computed",
                ways_out=["Save it on the rank that records it."],
            )
        folder.mkdir(parents=True, exist_ok=True)
        return path

    def to_html(
        self, path: str | Path, *, budget: Budget = BUDGET, answers: Budget = ANSWERS, title: str | None = None
    ) -> None:
        """Write a page that shows this session in any browser, from a file and offline; it opens at this position.

        Of a recording of more than 100 000 events it shows the part around this position, without answers.

        Args:
            budget: the most bytes of JSON for values, as a number or as text (``"1 MB"``). Where they are more, fewer
                elements of each array are in the page, then none, then no statistics either; the page says so.
            answers: the most bytes of JSON for answers to what the reader may ask, which are put into the page within
                a few seconds. Where there is none the page says what to call in Python.
            title: None: the net's name.

        Raises:
            FileError: `path` cannot be written, or the page would be too large for a browser. What was there stays.
            NetError: ``bad_name``, `title` is no text. StoreError: ``bad_budget``.
        """
        from .notebook.page import page

        if title is not None:
            check_text(title, "the title of a page")
        trace = self.trace() if len(self) <= MOST_EVENTS else self.view()
        with self._waiting() as progress:
            html = page(
                trace,
                self.position,
                first=self.view() if MOST_SHOWN < len(self) <= MOST_EVENTS and self._recording is not None else None,
                questions=self if trace.part is None else None,
                budget=bytes_of(budget),
                most_answers=bytes_of(answers),
                title=title,
                progress=progress,
            )
        write_whole(path, html.encode(errors="replace"))

    def to_notebook(self, path: str | Path) -> "Written":
        """Write a notebook that runs the recorded program again, one operator a cell, and ends with the same gradients.

        Where a live net makes the same backward pass, the cells are its steps, see `gradviz.live`. Operators run on the
        devices that they carry. Arrays of more than 64 elements lie in a file beside it, which has its name and ends in
        ``.npz``.

        Returns:
            What it wrote.

        Raises:
            NotebookError: nothing was run, or the session was read from a file and has no arrays.
            FileError: a file cannot be written. What was there stays.
        """
        from .notebook.cells import write_notebook

        return write_notebook(path, self._trace, self._live)

    def to_cells(self, of: "Of" = "group") -> list[dict[str, Any]]:
        """Cells that run a part of this again, in the notebook of this kernel; as its file has them.

        They take what they start from out of this session, by the name that it has in the kernel. JupyterLab inserts
        them, see its commands ``gradviz:insert-...``. Those of a pass of PyTorch are steps of its engine, as of
        `gradviz.live`, from the variables that it was recorded from.

        Args:
            of: ``"operator"``, the one that this position is about; ``"group"``, the operator of the net behind it
                with all that it brings; ``"pass"``, the net and its backward pass.

        Raises:
            NotebookError: as `to_notebook`; ``no_name``: nothing in the kernel is called this session; ``no_operator``:
                this position is about none; ``too_large``: these are more than 200 operators; ``bad_argument``.
        """
        from .notebook.inserting import cells_beside

        going = self._pass()
        ways = {"": self} if going is None else {"": self, ".session": going}
        is_plain = self._options.keys() <= {"forward", "budget", "spill"}
        return cells_beside(self._trace, self._live, self.position, of, ways, is_plain)

    def to_ssa(self) -> "Session":
        """The same pass over `Net.to_ssa` of the net, where nothing is overwritten: a way out of a refused pass.

        It is recorded when first asked for, with the options of this session, and kept with it. Of a session that was
        read from a file only the generation is recorded.

        Raises:
            NetError: ``no_net``, the session is of code or of a live pass, or its pass skips operators.
            And what `debug` raises.
        """
        if self._ssa is None:
            recorded = self._trace if self._recording is None else self._recording
            if recorded.engine != "symbolic" or recorded.skip:
                raise NetError(
                    f"There is no SSA form of {self.name} to debug: only debug(net, ys), without skip, has one.",
                    kind="no_net",
                    ways_out=["net.to_ssa() is that of any net; gradviz.debug(net.to_ssa(), ys) debugs it."],
                )
            given = recorded.ys if isinstance(recorded.ys, dict) else dict.fromkeys(recorded.ys)
            operators = Net(self.name, NetDef.from_dict(self._forward).ops)
            # What reads them at the end tells what the ys, and gradients that are given, are called then.
            names = list(dict.fromkeys([*given, *(name for one in given.values() for name in parts_of(one))]))
            *ops, last = Net(self.name, [*operators.ops, Operator("Print", names, [])]).to_ssa().ops
            now = dict(zip(names, last.inputs, strict=True))
            seeds = {now[y]: with_names(gradient, now.__getitem__) for y, gradient in given.items()}
            self._ssa = debug(Net(f"{self.name} in SSA form", ops), seeds, **self._options)
        return self._ssa

    @property
    def live(self) -> Advancing | None:
        """The `gradviz.Live` of which this is the newest session; None: nothing more happens."""
        going = self._pass()
        # Once more has happened, another session is the newest.
        return None if going is None or going.next is None or going.session is not self else going

    def trace(self) -> Trace:
        """The trace document with its graph, breakpoints and watches."""
        return self._marked(self._drawn)

    def view(self) -> Trace:
        """What the widget shows: `trace`, or of a recording of more than 30 000 events the part around this position.

        Such a part has some hundred events and the operators that they are about; of those between them it says where
        they are, and what flows. `Trace.part` says which part it is.
        """
        if self._recording is None or len(self) <= MOST_SHOWN:
            shown = self.trace()
        else:
            if self._part is None or not self._part.shows(self.position):
                self._part = self._draw(self._parts.around(self.position))
            shown = self._marked(self._part)
        live = self.live
        return shown if live is None else msgspec.structs.replace(shown, upcoming=live.next)

    def nearby(self) -> Trace:
        """The operators that the events around this position are about, and what stands for all others; not drawn."""
        return self._nearest.around(self.position)

    @cached_property
    def _parts(self) -> Parts:
        assert self._recording is not None
        return Parts(self._recording)

    @cached_property
    def _nearest(self) -> Parts:
        return Parts(self._journal, NEAR_EVENTS, NEAR_OPERATORS)

    def _marked(self, trace: Trace) -> Trace:
        return msgspec.structs.replace(trace, breakpoints=self.marks.breakpoints, watches=self.marks.watches)

    @cached_property
    def _drawn(self) -> Trace:
        return self._trace if self._trace.graph.svg is not None else self._draw(self._trace)

    def _draw(self, trace: Trace) -> Trace:
        from .drawing import render

        with self._waiting() as progress:
            return msgspec.structs.replace(trace, graph=render(trace, progress=progress))

    def _waiting(self) -> AbstractContextManager[Progress | None]:
        return shown_progress()

    @property
    def net(self) -> Net:
        """The whole program as a net of its own: the forward operators, then the gradient operators.

        Of a session that was read from a file the forward operators alone.
        """
        if self._live is not None:
            return Net(self.name, self._live.operators)
        return Net(self.name, NetDef.from_dict(self._forward).ops)

    @property
    def _forward(self) -> dict[str, Any]:
        return self._trace.net if self._recording is None else self._recording.net.to_dict()

    def graph(
        self, theme: "Theme | None" = None, *, opened: "Opened | None" = None, plumbing: bool = False
    ) -> "graphviz.Digraph":
        """The graph at the current position: what is current, what is new, and what does not exist yet.

        Args:
            theme: colours and sizes; None: the light one.
            opened: operators to draw with their nested nets, by the ids of their lines (``"f2"``) or nets (``"s0"``),
                and groups of a large net to draw with what they hold (``"g3"``), or ``"all"``; None: the nets that
                the position is in.
            plumbing: draws what builders and rules add too: scopes, the Do around a branch, copies, handovers.

        Raises:
            DrawingError: something that cannot open is named.
        """
        from .drawing import LIGHT, digraph

        trace = self._trace if len(self) <= MOST_SHOWN else self.view()
        return digraph(trace, self.position, theme or LIGHT, opened, plumbing=plumbing)

    async def pause(self, when: str | None = None) -> Event | None:
        """Let the cell wait here until a person presses Continue cell: ``await session.pause()``.

        Meanwhile the widget, which the cell shows, and the side panel steer this session. Returns the event at which
        it stands then. To interrupt the kernel ends the wait too. In a function, that has to be an ``async def``, which
        the cell awaits. Where no person is at a notebook, as in a script, it does not wait, and a warning says why.

        Args:
            when: wait only where an event from here on fits, and move there: a target of `run_to`, as ``"norm > 100"``,
                ``"NaN"`` or ``"Accumulated"``.

        Raises:
            GradvizError: ``is_paused``: a cell waits here already. ``old_kernel``: an ipykernel before 7.4.
            CursorError, ConditionError: `when` is no target.
        """
        if when is None or self._finds(when):
            await pause(self)
        return self.event

    def _finds(self, target: str) -> bool:
        """Move to the next event that a target names; False: there is none."""
        try:
            self.run_to(target)
        except CursorError:
            if not self.is_target(target):
                raise
            return False
        return True

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        from .notebook.display import mimebundle

        return mimebundle(self)


class _Keeping(TypedDict, total=False):
    budget: Budget
    spill: Folder


class _OfNets(_Keeping, total=False):
    workspace: Workspace | None
    skip: int
    deduplicate: Aggregator | None


class _OfVariables(_Keeping, total=False):
    gradient: Any
    schedule: str
    retain_grad: bool


@overload
def debug(net: NetDef, ys: Ys, **options: Unpack[_OfNets]) -> Session: ...
@overload
def debug(y: Variable | Sequence[Variable], /, **options: Unpack[_OfVariables]) -> Session: ...
@overload
def debug(*, y: Variable | Sequence[Variable], **options: Unpack[_OfVariables]) -> Session: ...
@overload
def debug(net: object, **options: Any) -> Session: ...
def debug(net: Any = None, ys: Any = None, *, y: Any = None, **options: Any) -> Session:
    """Record a backward pass: of a net, ``debug(net, ys)``, of Variables or PyTorch, ``debug(y)``, or of an engine.

    debug(net, ys, *, workspace=None, skip=0, deduplicate=None, budget=None, spill=None) records how the gradients of
    `ys` come into being and, where the net's inputs are fed, their execution.

    debug(y, *, gradient=None, schedule="rank", retain_grad=False, budget=None, spill=None) records what
    ``y.backward(...)`` does with these arguments. It does not do it: every Variable stays as it is, its ``grad`` too.

    debug(loss, *, gradient=None, inputs=None, create_graph=False, write=False, forward=None, budget=None, spill=None),
    with a tensor of PyTorch or several in a list, lets its engine go backward once: no ``grad`` is written, the graph
    stays. `gradient`, `inputs` and `create_graph` are those of ``torch.autograd.grad``.

    debug(object, **options), with an object of a type of `register_engine`, records what its engine yields.

    Args:
        net: the forward net; it stays as it is.
        ys: blobs to differentiate, as in `Net.add_gradient_operators`.
        workspace: blobs to run on; it stays as it is. None: only the generation is recorded. What keeps the program
            from being run, a blob that nobody fed for instance, is said at the start, and is `Trace.obstacle`.
        skip: the first `skip` operators take no part in the backward pass.
        deduplicate: ``"sum"`` or ``"mean"`` to merge, after the pass, the rows of equal index in each sparse gradient
            of an input of the net, as `Net.deduplicate_gradient_slices` does.
        y: a Variable, or several from which the pass starts at once.
        gradient: of y, an array of its shape and dtype; of several a list of them, None among them for 1.
        schedule: in which order functions are run backward, see `Variable.backward`.
        retain_grad: whether the Variables on the way keep their gradients too.
        write: whether this is the ``backward()`` of the user: ``grad`` is written and the graph freed.
        forward: computes `loss` again and returns it, for `Session.check`, which runs it many times, on copies.
        budget: the most bytes that what operators make may take, ``"1 GB"`` or a number of them: what does not fit is
            written to a file, and read back when it is asked for. None: all is kept. `Session.store` tells where it is.
        spill: the folder of that file, None or True for that of the system; the file goes with the session.

    Raises:
        StoreError: `budget` or `spill` cannot be used.
        NetError: `net` is no net, or `deduplicate` neither ``"sum"`` nor ``"mean"``.
        GradientError: nothing could be recorded, because `ys` or the net are malformed, or because ``y.backward``
            would not start. A fault met on the way does not raise: it is the last event of the session, so that one
            can step up to it.
        RunError: a given gradient holds a NaN, or is a slice whose indices and values do not belong together.
    """
    if ys is not None:
        options["ys"] = ys
    if y is not None and net is not None:
        options["net"] = net
    given = net if y is None else y
    bridges.cross(given)
    with shown_progress() as progress:
        recording = record_any(given, options, progress)
        session = Session(None, recording)
        session._options = {name: value for name, value in options.items() if name != "ys"}
        if recording.size > MOST_SHOWN:
            session.over()  # what verbs and questions ask is read while one waits, and not at the first key
            session.restart()
            _ = recording.text
        return session


def load(path: str | Path) -> Session:
    """The session in a ``*.gradviz.json`` file, see `Session.load`."""
    return Session.load(path)
