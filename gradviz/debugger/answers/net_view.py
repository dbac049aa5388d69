"""Views of nets: one net of a recording, one run of it where it ran, and what a word in a question means there.

Blob versions are writings; in answers they have the names of the end. What was called otherwise before an accumulation
renamed it is found by the name that it has at the position of the question, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec

from ...operators.gradients import is_gradient_of
from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...program import Operator
from ...program.control_flow import take_apart
from ...program.errors import joined, repr_of, shorten
from ...program.events import Accumulated, Failed, Ran
from ...program.operator import MAX_DIGITS, key_of, version_in
from ..document import Value
from ..journal import NetText, Statement, Writing
from ..statistics import WORKSPACES
from ..steering import FEED, CursorError, unknown
from .recorded import Recorded

AGAIN = "Record it again with gradviz.debug."
STOPPED = "finish() moves to what stopped it and says why."
GO_ON = "Let the pass that stands still before it go on: live.step()."
FORMS = "A blob is asked for by its name (x), a version (x@1), or one of them in a run (2.loop_net[3]/0.net:x)."


class NetView:
    """One net, and one run of it, looked at from a position.

    Attributes:
        net: its text.
        run: the run that was asked for, forward or backward, a number among all; None: no run, or the outermost net.
    """

    def __init__(self, recorded: Recorded, position: int, net: NetText, run: int | None = None) -> None:
        self.recorded = recorded
        self.position = position
        self.net = net
        self.run = run

    def run_of(self, *, is_backward: bool) -> int | None:
        """The run forward, or that of the backward pass, of the two that belong together; None: it did not run."""
        is_own = self.run is None or self.recorded.runs.half_of(self.run).is_backward == is_backward
        return self.run if is_own else self._counterpart

    @cached_property
    def _counterpart(self) -> int | None:
        return None if self.run is None else self.recorded.counterpart(self.run)

    @property
    def where(self) -> str:
        """The way to this run, or to the net, as it stands before a colon in a question; empty for the outermost."""
        return "/".join(self.net.path if self.run is None else self.recorded.runs[self.run].path)

    def named(self, blob: object) -> str:
        """A blob of this net as it can be asked for from anywhere."""
        return f"{self.where}:{blob}" if self.where else str(blob)

    def of(self, run: int) -> NetView:
        """The view of any run."""
        net = self.recorded.text.net(self.recorded.runs.half_of(run).net.path)
        return NetView(self.recorded, self.position, net, run)

    def around(self) -> Iterator[NetView]:
        """The views around this one, from the inside out."""
        text, path, run = self.recorded.text, self.net.path, self.run
        while path := path[:-1]:
            run = None if run is None else self.recorded.runs[run].around
            if path in text.ids:
                yield NetView(self.recorded, self.position, text.net(path), run)
        if self.net.path:
            yield NetView(self.recorded, self.position, text.outermost)

    def writings(self, name: str) -> list[Writing]:
        """The versions of a name, oldest first; empty: there is no such blob."""
        writings = self.net.writings.get(name)
        if writings or self.net.path:
            return writings or []
        keys = sorted(self.recorded.values.keys(None))
        return [self.net.version(*key) for key in keys if key[0] == name]

    def names(self) -> Iterator[str]:
        """The names of all blobs, as they come in the program."""
        for statement in (*self.net.forward, *self.net.backward):
            names = (blob.name for blob in (*statement.inputs, *statement.outputs))
            yield from filter(self.net.writings.get, names)  # what was only to pass through has no version
        yield from (name for name, writings in self.net.writings.items() if writings)
        if not self.net.path:
            yield from (name for name, _ in self.recorded.values.keys(None))

    @property
    def failure(self) -> Failed | None:
        """With what generating its pass has stopped, as the last event of all."""
        last = self.recorded.recording.failure
        is_open = self.recorded.text.whole is None
        return last if is_open and last is not None and last.path == self.net.path else None

    @property
    def is_halted(self) -> bool:
        """Whether its pass is not over and nothing has failed: more is to come."""
        return self.recorded.text.whole is None and self.recorded.recording.failure is None

    def is_final(self, blob: Writing) -> bool:
        """Whether no more of a version's gradient comes: all that read it have gone backward, and that is added up."""
        if self.recorded.text.whole is not None:
            return True
        readers = [one for one in self.readers(blob) if one.role == "forward" and one.number >= self.skip]
        failed = None if self.failure is None else self.failure.index
        if self.net.path or not all(one.visits and one.number != failed for one in readers):
            return False
        return len(blob.arrivals) < 2 or isinstance(self.recorded.events[blob.arrivals[-1] - 1], Accumulated)

    @property
    def skip(self) -> int:
        """How many leading operators the pass left out."""
        return 0 if self.net.path else self.recorded.recording.skip

    def readers(self, blob: Writing) -> list[Statement]:
        """The operators that read a version, forward ones first, each once."""
        readers = [one for one in dict.fromkeys(blob.readers) if one.role != "passed" and blob in one.inputs]
        return sorted(readers, key=lambda one: (one.role != "forward", one.number))

    def is_forward(self, blob: Writing) -> bool:
        """Whether a version belongs to the forward program."""
        return any(one.role == "forward" for one in (*([blob.statement] if blob.statement else []), *blob.readers))

    @property
    def owner(self) -> Statement | None:
        """The forward operator of the net around that runs this net; None: there is none."""
        return self.recorded.text.owners[self.net.id][0] if self.net.path else None

    def bound(self, name: str) -> str | None:
        """What a blob around this net is called in here."""
        owner = self.owner
        if owner is None:
            return None
        if owner.op.type == "Do":
            return take_apart(owner.op, 0).inner.get(name)
        return name if name in (*owner.op.inputs, *owner.op.outputs) else None

    def leaves(self, name: str) -> bool:
        """Whether the net around can read a name in here."""
        return self.owner is not None and name in (self.bound(output) for output in self.owner.op.outputs)

    def from_outside(self, name: str) -> Writing | None:
        """What is there of a name before the first operator, as far as operators read it."""
        first = next(iter(self.net.writings.get(name, ())), None)
        if first is None or first.statement is not None:
            return None
        is_initial = self.owner is not None and self.owner.op.type == "Do" and self.leaves(name)
        return first if is_initial or any(one.role == "forward" for one in first.readers) else None

    def inside(self, statement: Statement) -> Iterator[tuple[str, NetView]]:
        """The nested nets of a forward operator that have a backward pass, each with the way there."""
        for argument, net in statement.nets.items():
            if argument == "cond_net":
                continue
            view = NetView(self.recorded, self.position, net)
            if (body := view._body) is None:
                yield argument, view
            else:
                yield from ((f"{argument}/0.{way}", inner) for way, inner in view.inside(body))

    @property
    def _body(self) -> Statement | None:
        """The Do that is all of this net, of a loop: the pass goes through its net, and knows nothing of this one."""
        only = self.net.forward[0] if self.net.path and len(self.net.forward) == 1 else None
        is_body = only is not None and only.op.type == "Do" and self.net.path[-1].endswith(".loop_net")
        return only if is_body else None

    def differentiated(self, blob: Writing) -> tuple[NetView, Writing]:
        """A version where the pass goes through it: of a round of a loop, in the net of its Do."""
        body = self._body
        inner = None if body is None else take_apart(body.op, 0).inner.get(blob.name)
        if body is None or inner is None or blob.statement not in (None, body):
            return self, blob
        net = body.nets["net"]
        versions = [
            one for one in net.writings.get(inner, ()) if one.statement is None or one.statement.role == "forward"
        ]
        if not versions:
            return self, blob
        run = self.run_of(is_backward=False)
        runs = [] if run is None else self.recorded.runs_in(run, net.path, is_backward=False)
        view = self.of(runs[0]) if runs else NetView(self.recorded, self.position, net)
        return view, versions[0 if blob.statement is None else -1]

    def found(self, blob: Writing) -> tuple[int, Any] | None:
        """Which of the two runs of a nested net knows a version, first the one forward, and what stands for it there;
        None: neither does."""
        for is_backward in (False, True):
            run = self.run_of(is_backward=is_backward)
            entry = None if run is None else self.recorded.entry(run, blob.key)
            if run is not None and entry is not None:
                return run, entry
        return None

    def run_with(self, blob: Writing) -> int | None:
        """Which of the two runs it is."""
        found = self.found(blob)
        return None if found is None else found[0]

    def value(self, blob: Writing) -> Value | None:
        """The statistics of a version; None: not computed."""
        if not self.net.path:
            return self.recorded.values.of(None, blob.key)
        run = self.run_with(blob)
        return None if run is None else self.recorded.values.of(run, blob.key)

    def values(self, blobs: Sequence[Writing]) -> list[Value | None]:
        """The same of several."""
        if self.net.path:
            return [self.value(one) for one in blobs]
        return self.recorded.values.together([one.key for one in blobs])

    def norm(self, blob: Writing) -> float | None:
        """The norm of a version; None: not computed, or it holds no numbers."""
        if self.recorded.trace is not None:
            value = self.value(blob)
            return None if value is None or value.dtype == WORKSPACES else float(value.norm or 0)
        if self.net.path:
            _, array = self.found(blob) or (None, None)
        else:
            array = self.recorded.recording.values.get(blob.key)
        return None if array is None or isinstance(array, ScopeStack) else self.recorded.norm(array)

    def array(self, blob: Writing) -> Array | ScopeStack | None:
        """The array of a version; None: not computed, or the recording was read from a file."""
        if not self.net.path:
            return self.recorded.recording.values.get(blob.key)
        run = self.run_with(blob)
        return None if run is None else self.recorded.runs[run].values.get(blob.key)

    def computed(self, writings: Sequence[Writing]) -> Writing:
        """The last of some versions of which there is an array, else the last."""
        return next((one for one in reversed(writings) if self.array(one) is not None), writings[-1])

    def needed(self, blob: Writing) -> Array:
        """The array of a version; raises CursorError ``not_computed``."""
        array = self.array(blob)
        if array is None:
            raise self.no_value(blob)
        return array

    def no_value(self, blob: Writing, word: str = "") -> CursorError:
        """That a version, which was asked for by a word, was not computed, and why."""
        recording, named = self.recorded.recording, word or self.named(blob)
        obstacle, absent = recording.obstacle, recording.absent and recording.absent(word or str(blob))
        reason, ways_out = "it was not computed.", [FEED]
        if obstacle is not None:
            reason, ways_out = f"nothing was run. {obstacle.message}", list(obstacle.ways_out)
        elif (run := self._first_run) is not None:
            reason = "each run of this nested net has one of its own, and no run is named."
            ways_out = [f"Name one, as {run}:{blob}."]
        elif self.recorded.is_saved and self.value(blob) is not None:
            reason, ways_out = "a saved trace keeps statistics, no arrays.", [AGAIN]
        elif absent is not None:
            reason, ways_out = f"{absent[0]}.", [absent[1]]
        elif blob.statement is not None and self.ran_at(blob.statement) is not None:
            reason, ways_out = "its operator ran, and what it made was not kept.", [AGAIN]
        elif self.recorded.recording.failure is not None:
            reason, ways_out = "it stopped before that was computed.", [STOPPED]
        elif blob.statement is not None and self.is_to_run(blob.statement):
            reason, ways_out = "its operator has not run yet.", [GO_ON]
        elif self.net.path and self.run is None and len(self.recorded.runs):
            reason = "this nested net did not run, as a branch that is not taken and a loop without a round."
            ways_out = ["Ask for the branch that was taken, or feed what decides about it otherwise."]
        message = f"There is no value of {shorten(named)}: {reason}"
        return CursorError(message, kind="not_computed", blobs=[named], ways_out=ways_out)

    @property
    def _first_run(self) -> str | None:
        """The way to the first run of a nested net, where this is the net alone; None: it is not, or has not run."""
        runs = self.recorded.runs
        its = (run for run in range(len(runs)) if runs.half_of(run).net.path == self.net.path)
        run = next(its, None) if self.net.path and self.run is None else None
        return None if run is None else "/".join(runs[run].path)

    def runs_of(self, statement: Statement) -> list[int]:
        """The runs of the nested nets of an operator, in order."""
        is_backward = statement.role != "forward"
        around = self.run_of(is_backward=is_backward)
        if around is None and self.net.path:
            return []
        nets = [self.recorded.runs_in(around, net.path, is_backward=is_backward) for net in statement.nets.values()]
        return sorted(run for runs in nets for run in runs)

    def ran_at(self, statement: Statement) -> int | None:
        """The position after an operator ran, of a nested net in this run; None: it never did."""
        return self.recorded.recording.ran(statement, self.run_of(is_backward=statement.role != "forward"))

    def is_to_run(self, statement: Statement) -> bool:
        """Whether an operator of the outermost net has joined a pass that runs, which has not come to it yet."""
        recording = self.recorded.recording
        if self.net.path or recording.failure is not None or not len(recording.timeline.of(Ran)):
            return False
        # Of a tape all joins before anything runs; a file does not say whether it came to its end.
        is_open = self.is_halted or not (self.recorded.is_saved or recording.absent)
        return is_open and self.ran_at(statement) is None

    def operator(self, statement: Statement) -> Operator:
        """The operator of a statement, its nested nets included, with the names of the end."""
        if statement.role == "forward":
            return statement.op
        if statement.nets:
            return self.recorded.text.halves[self.net.path].backward[statement.number]
        inputs, outputs = ([one.name for one in blobs] for blobs in (statement.inputs, statement.outputs))
        return msgspec.structs.replace(statement.op, inputs=inputs, outputs=outputs)

    def statement(self, word: str) -> Statement:
        """The forward operator that ``"#3"`` names; raises CursorError."""
        number = word[1:]
        if number.isdecimal() and len(number) <= MAX_DIGITS and int(number) < len(self.net.forward):
            return self.net.forward[int(number)]
        raise unknown("operator", word, [f"#{index}" for index in range(len(self.net.forward))])

    def at(self, path: str) -> NetView | None:
        """The view at ``"2.loop_net[3]/0.net"``; without saying in which run, at ``"2.loop_net/0.net"``; at ``""``."""
        text = self.recorded.text
        run = self.recorded.recording.by_path.get(path) if path else None
        if run is not None:
            return self.of(run)
        paths = {"": (), **{"/".join(one): one for one in text.ids}}
        return NetView(self.recorded, self.position, text.net(paths[path])) if path in paths else None

    def find(self, word: str) -> tuple[NetView, list[Writing]]:
        """What a question means: the net, and a version, or of a name all of them, oldest first.

        It is looked for here first, then around.

        Args:
            word: a name or a version, perhaps behind the path of a net or a run and a colon; a colon alone says the
                outermost net.

        Raises:
            CursorError: ``not_found``.
        """
        if not isinstance(word, str):
            raise unknown("blob", repr_of(word), (), [FORMS])
        views, name = self.meant_in(word)
        for view in views:
            if writings := view.meant(name):
                return view, writings
        versions = [str(one) for view in views for one in view.writings(name.rpartition("@")[0])]
        names = [other for view in views for other in view.names()]
        ways_out, beside = [FORMS], self.recorded.recording.beside
        if is_gradient_of(name, names):
            ways_out.insert(0, f'session.why_none("{word}") says what that gradient is called.')
        elif beside is not None and beside(name.removesuffix("_grad")) is not None:
            ways_out.insert(0, f'It takes no part in the pass: session.why_none("{word}") says why.')
        raise unknown("blob", name, versions or names, ways_out)

    def meant_in(self, word: str) -> tuple[list[NetView], str]:
        """The nets in which a question looks for a blob, the first first, and what it is called there.

        What stands before a colon is a path, unless a blob is called so as a whole.
        """
        views = [self, *self.around()]
        path, colon, blob = word.rpartition(":")
        inside = self.at(path) if colon and not any(view.meant(word) for view in views) else None
        return (views, word) if inside is None else ([inside], blob)

    def meant(self, word: str) -> list[Writing]:
        """The versions in this net that a word means, oldest first; empty: none is called so."""
        key = version_in(word)
        if key is None or self.net.writings.get(word):
            return self.writings(word)
        name, version = key
        writing = self.net.called(name, version, self.position)
        return [writing] if writing else [one for one in self.writings(name) if one.version == version]


def text_of(statement: Statement, position: int | None = None) -> str:
    """A statement as it reads at a position, or in the end: ``y@0 = Tanh(x@0)``; not there yet, as it will at first."""
    then = statement if position is None else statement.at(max(position, statement.made))
    inputs, outputs = joined(then.inputs), joined(then.outputs)
    if statement.role == "passed":
        return f"{outputs} := {inputs}"
    call = f"{statement.op.type}({inputs})"
    return f"{outputs} = {call}" if outputs else call


def name_of(statement: Statement) -> str:
    """``FC #2`` for a forward operator, ``FCGradient of #2`` for a backward one."""
    if statement.role == "forward":
        return statement.name
    return statement.op.type if statement.of is None else f"{statement.op.type} of #{statement.of}"


def placed(statement: Statement) -> str:
    """With its place: ``#2 y@0 = Tanh(x@0)`` or ``x_grad@0 = TanhGradient(y@0, y_grad@0), of #2``."""
    text = text_of(statement)
    if statement.role == "forward":
        return f"#{statement.number} {text}"
    return text if statement.of is None else f"{text}, of #{statement.of}"


def by_name(blobs: Iterable[str]) -> dict[str, list[int]]:
    """Versions by their names, in the order in which these come first; the numbers of each rise."""
    versions: dict[str, set[int]] = defaultdict(set)
    for blob in blobs:
        name, version = key_of(blob)
        versions[name].add(version)
    return {name: sorted(numbers) for name, numbers in versions.items()}
