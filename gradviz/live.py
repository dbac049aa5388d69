"""Live: a backward pass that stands still between operators, and goes on when it is told to."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from . import bridges, notebook
from .debugger import Breakpoint, ConditionError, Cursor, CursorError, Recording
from .debugger.journal import ChangeablePass, LivePass, live_any
from .debugger.steering import bad_argument, entry_of
from .gradient import Ys
from .notebook.pausing import pause
from .program import GradvizError
from .program.errors import shorten
from .program.events import Event
from .runtime import Workspace
from .session import Session


class Live:
    """A backward pass that stands still between operators: each verb runs what is next, now.

    There is no way back, but what has happened is a recording: `session` steps through it in both directions.
    """

    def __init__(self, engine: LivePass) -> None:
        self._engine = engine
        self._session = self._newest()
        # Up to where breakpoints and targets have been looked for.
        self._passed = len(self._session)

    @property
    def session(self) -> Session:
        """The debugger over what has happened, at its end, or where a breakpoint is behind that it ran past.

        Once more has happened this is another one; breakpoints, watches and the widget that shows it go along.
        """
        return self._session

    @property
    def next(self) -> str | None:
        """The operator that is next, as ``#3 tanh``; None: the pass is over."""
        return self._engine.next

    @property
    def workspace(self) -> Workspace:
        """The blobs of a net as they are now, in a workspace of their own.

        Raises:
            GradvizError: ``not_live``: the engine has none.
        """
        return self._changeable("look at its blobs").workspace

    @property
    def left(self) -> int:
        """How many operators of a net have not run, of its backward pass aside.

        Raises:
            GradvizError: ``not_live``: the engine has no net; the net was changed in what has run.
        """
        return self._changeable("count what has not run").left

    def step(self, *, device: str | None = None) -> Event | None:
        """Run the next operator; returns the last event.

        Args:
            device: where: ``"cuda:0"``; None: where it runs without that. What an operator of the net reads on another
                device is copied there by operators that join before it, and its gradient comes back by others.

        Raises:
            GradvizError: ``not_live``: a `device` is named, and the engine cannot be told where to work.
            RunError: the operator of a net fails: everything is as before, and it is still next. ``bad_device``, also
                where it runs nested nets, whose operators run where they say themselves.
        """
        try:
            if device is None:
                self._engine.advance()
            else:
                self._changeable(f"run an operator on {device}").advance(device)
        finally:
            self._passed = len(self._look())
        return self._session.event

    def over(self) -> Event | None:
        """Run the next operator with all that it brings, nested nets included: a `step`."""
        return self.step()

    def run_to(self, target: str) -> Event | None:
        """Run until an event happens that `target` names, as in `Session.run_to`, a position aside.

        Raises:
            CursorError: ``not_found``: nothing is called so, and nothing is run; or the pass is over without it.
            ConditionError: a condition is malformed.
        """
        if not isinstance(target, str):
            raise bad_argument("target", target, "what it is called, as text")
        if not self._session.is_target(target, self._engine.is_to_come):
            self._session.run_to(target)  # says what is wrong with it
        begun = self._passed
        if (at := self._run(partial(_target, target))) is None:
            raise CursorError(
                f"The pass is over, and no event after position {begun} was about {shorten(target)}.",
                kind="not_found",
                ways_out=["What happened is recorded: session.run_back_to, session.why_none."],
            )
        return self._session.move_to(at)

    def continue_(self) -> Event | None:
        """Run until a breakpoint stops it, else to the end; `Session.stopped` says why."""
        if not any(one.enabled and one.log is None for one in self._session.breakpoints):
            return self.finish().event
        at = self._run(_stop)
        return self._session.event if at is None else self._session.move_to(at)

    def finish(self) -> Session:
        """Run all that is left; where that fails or is interrupted, `session` has what happened until then."""
        try:
            while self._engine.advance():
                pass
        finally:
            self._passed = len(self._look())
        return self._session

    def abort(self) -> Session:
        """End the pass here, which is its last event. What happened stays, and the engine is let go."""
        self._engine.abort()
        self._passed = len(self._look())
        return self._session

    async def pause(self) -> Event | None:
        """Let the cell wait here until a person presses Continue cell: ``await live.pause()``, see `Session.pause`."""
        await pause(self._session)
        return self._session.event

    def break_on(self, on: str, **options: Any) -> Breakpoint:
        """Set a breakpoint in what has happened and is to come; the arguments are those of `Session.break_on`."""
        return self._session.breakpoints.add(entry_of(on, **options), self._engine.is_to_come)

    def feed(self, blob: str, value: Any) -> Event | None:
        """Give a blob of a net, or a gradient, another value; returns the last event.

        Where an operator has read or written it, that is a new version of it, `ChangedByHand`, and what was computed
        from the version before is stale. The gradient of a blob ``h`` that was changed so goes to what was given,
        ``h_by_hand``.

        Args:
            value: as of `Workspace.feed`; of the shape and dtype of the version before, whose dtype numbers and
                lists get.

        Raises:
            GradvizError: ``not_live``: the engine cannot be fed; the pass is over; the backward pass has begun, and the
                blob belongs to the net; an operator has not run yet that came together with the last one.
            RunError: ``bad_value``, also for a stack of workspaces; ``shape_mismatch``.
        """
        self._changeable(f"feed {shorten(str(blob))}").feed(blob, value)
        self._passed = len(self._look())
        return self._session.event

    def differentiate(self, ys: Ys) -> None:
        """Say from which blobs of a net to go back, as in `debug`, before the backward pass begins.

        Raises:
            GradvizError: ``not_live``: it has begun, or the engine cannot be told. ``bad_ys``: there are none; whether
                the net has them is seen when it begins, since operators may still join.
        """
        self._changeable("say what to differentiate").differentiate(ys)
        self._look()

    def skip(self) -> None:
        """Leave out the next operator of a net.

        Raises:
            GradvizError: ``not_live``: the engine cannot leave it out, or its backward pass has begun.
        """
        self._changeable(f"leave out {self.next}").skip()
        self._look()

    def _changeable(self, what: str) -> ChangeablePass:
        """The engine, to be told `what`."""
        if self._engine.fixed is not None:
            why, way_out = self._engine.fixed
            raise GradvizError(f"To {what} is not possible: {why}.", kind="not_live", ways_out=[way_out])
        return cast(ChangeablePass, self._engine)

    def _run(self, find: Callable[[Cursor], int | None]) -> int | None:
        """Run until something is found; returns its position. None: the pass is over."""
        cursor, goes_on = self._ahead(), True
        try:
            while (at := find(cursor)) is None and goes_on:
                self._passed = len(cursor)
                goes_on = self._engine.advance()
                cursor = self._ahead(cursor)
            self._passed = len(cursor) if at is None else at
        finally:
            self._look()
        return at

    def _ahead(self, before: Cursor | None = None) -> Cursor:
        """A cursor over what has happened, to look in what nobody has looked at; it goes on with the one before."""
        cursor = Cursor(None, self._happened(None if before is None else before._recording))
        if before is not None:
            cursor.go_on(before)
        cursor.marks = self._session.marks
        cursor.move_to(self._passed)
        return cursor

    def _look(self) -> Session:
        """A session over what has happened by now."""
        before, self._session = self._session, self._newest()
        self._session.marks, self._session.wait = before.marks, before.wait
        if notebook.user_shell() is not None:
            from .notebook.display import hand_over  # takes its time to import

            hand_over(before, self._session)
        return self._session

    def _happened(self, before: Recording | None = None) -> Recording:
        journal = self._engine.journal()
        return Recording(lambda: journal, before=before)

    def _newest(self) -> Session:
        session = Session(None, self._happened())
        session.finish()
        session._pass = weakref.ref(self)
        return session

    def __repr__(self) -> str:
        where = "it is over" if self.next is None else f"{self.next} is next"
        return f"<Live {self._session.name!r} at event {len(self._session)}: {where}>\n{self._session.narration}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self._session._repr_mimebundle_(include, exclude)


def _stop(cursor: Cursor) -> int | None:
    """Where the next breakpoint stops."""
    begun = cursor.position
    cursor.continue_()
    return None if cursor.position == begun or cursor.stopping is None else cursor.position


def _target(target: str, cursor: Cursor) -> int | None:
    """The next event about a target."""
    try:
        return cursor.nearest(target)
    except ConditionError:
        return None


def live(given: Any, ys: Any = None, **options: Any) -> Live:
    """Begin a backward pass that stands still before its first operator.

    live(net, ys, *, workspace, skip=0) runs each operator of the net, and then each gradient operator as its rule makes
    it; the net and the workspace stay as they are. Operators that are added to the net before its backward pass begins
    come too. One that runs nested nets, If, While or Do, runs in one step, which brings all that happens in these; so
    does its gradient. Without `ys` it stands still when the net has run, until `Live.differentiate` gives them.

    live(y, *, gradient=None, schedule="rank", retain_grad=False), with a Variable or several, lets one function go
    backward after the other; every Variable stays as it is, its ``grad`` too.

    live(loss, *, gradient=None, inputs=None, create_graph=False, write=False), with a tensor of PyTorch or several in a
    list, lets its real engine wait, in a thread of its own; options as of `debug`. While it waits its hooks are on the
    graph, and tensors that retain their gradients have none; to end it early, `Live.abort`.

    Raises:
        GradientError: ``not_live``: a pass of such an object cannot stand still. What `debug` raises.
    """
    bridges.cross(given)
    return Live(live_any(given, options if ys is None else {"ys": ys} | options))
