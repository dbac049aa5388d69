"""Events: what happened while a backward pass came into being and ran, one immutable value each.

An engine yields them; a recording keeps them; a view or a script reads them. `changes` names the parts of the
engine's state that the event changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Union

import msgspec

from .code_line import CodeLine
from .errors import GradvizError
from .net import shown_argument, with_nets
from .operator import Gradient, GradientSlice, Operator

__all__ = [
    "About", "Accumulated", "ChangedByHand", "Checked", "CodeLine", "Completed", "Contribution", "Deduplicated",
    "EnteredSubnet", "Event", "Failed", "GeneratorAdded", "GradWritten", "HookRan", "InputChecked", "LeftSubnet",
    "Played", "Ran", "Rename", "RuleApplied", "Seeded", "Skipped", "Visited", "Waiting",
]  # fmt: skip


class Event(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag=True, kw_only=True):
    """Base of all events.

    `path` says in which nested net it happened: the nets to go through to reach it, each as
    ``<operator>.<argument>``, in a run of a loop ``<operator>.<argument>[<iteration>]``; empty for the outermost net.
    """

    changes: ClassVar[tuple[str, ...]] = ()
    path: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The event's name, e.g. ``"Accumulated"``."""
        return type(self).__name__


def element(operator: int, argument: str, iteration: int | None = None) -> str:
    """A nested net, or a round of a loop's, in a path: ``2.loop_net[3]``."""
    return f"{operator}.{argument}" if iteration is None else f"{operator}.{argument}[{iteration}]"


class About(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What an engine may say of itself before its first event.

    Attributes:
        engine: its name; empty: that of the type that it was registered for.
        name: of what it differentiates.
        summary: a sentence or two on that, shown before anything has happened.
    """

    engine: str = ""
    name: str = ""
    summary: str = ""


class Waiting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A function that waits in the heap of the rank schedule to run backward; the greatest rank is next.

    Attributes:
        index: of its forward operator.
        arrival: which was the first gradient to reach it, counted from 1: of equal ranks the earlier is next.
    """

    index: int
    rank: int
    arrival: int


class Played(Event, frozen=True, gc=False):
    """Forward operator `index` joined the net: its inputs were read, its outputs got versions.

    `rank`: that of a function that ran when it was called. `code`: the line that called it, or added it to the net,
    where that is known; `inside`: the same of the operators in its nested nets, in the order of `operators_in`.
    `numbered`: people know it by its number, too, and not by its line alone.
    """

    changes = ("ssa", "input_usages", "frontier", "in_version_history", "out_version_history")
    index: int
    op: Operator
    in_versions: tuple[int, ...]
    out_versions: tuple[int, ...]
    rank: int | None = None
    code: CodeLine | None = None
    inside: tuple[CodeLine | None, ...] = ()
    numbered: bool = False


class Seeded(Event, frozen=True, gc=False):
    """The pass starts at `y`: its gradient is `gradient`, made by `operator` or given (then None)."""

    changes = ("input_usages", "gradient_frontier", "gradient_generators")
    y: str
    version: int
    gradient: Gradient
    operator: Operator | None = None
    position: int | None = None
    queued: Waiting | None = None


class Visited(Event, frozen=True, gc=False):
    """Forward operator `index` is reached; `g_output` holds the gradient of each output, None where there is none.

    By the rank schedule it was taken from a heap, in which `waits` functions are left; `waiting` are the next of them.
    """

    index: int
    g_output: list[Gradient | None]
    rank: int | None = None
    waits: int = 0
    waiting: list[Waiting] = []


class Skipped(Event, frozen=True, gc=False):
    """Forward operator `index` is passed by, for `reason`."""

    index: int
    reason: str


class RuleApplied(Event, frozen=True, gc=False):
    """The rule at `rule` (file:line) made `operators`, the first of them gradient operator `position`.

    `g_input` holds the gradient of each input of the forward operator, None where there is none; the inputs
    `unwanted`, by their places, require none. `by`: a rule of the table, or a backward method that somebody wrote, has
    done it.
    """

    index: int
    rule: str
    position: int
    operators: list[Operator]
    g_input: list[Gradient | None]
    unwanted: tuple[int, ...] = ()
    by: Literal["rule", "method"] = "rule"


Source = Literal["output gradient", "output", "input", "rule"]
"""Where an input of a gradient operator comes from: the gradient of an output, a forward output or input, the rule."""


class Checked(msgspec.Struct, frozen=True, gc=False):
    """An input of a gradient operator and the forward blob version it stands for (None: made by the same rule)."""

    name: str
    source: Source
    blob: str = ""
    version: int | None = None


class InputChecked(Event, frozen=True, gc=False):
    """Every input of gradient operator `position` still holds the version that the rule means."""

    index: int
    position: int
    inputs: list[Checked]


How = Literal["generated", "passed", "seed", "given"]
"""How a gradient came to be: written by an operator, passed through unchanged, filled with ones, or given."""


class GeneratorAdded(Event, frozen=True, gc=False):
    """`gradient` is one gradient of `blob` at `version`, the `count`-th so far.

    `index` is the forward operator it came through; `position` the gradient operator that writes it (None: passed).
    `queued`: by the rank schedule, the function that joins the heap because of it.
    """

    changes = ("gradient_generators", "gradient_frontier")
    index: int
    blob: str
    version: int
    gradient: Gradient
    how: How
    position: int | None
    count: int
    queued: Waiting | None = None


class Contribution(msgspec.Struct, frozen=True, gc=False):
    """One term of an accumulation. `index`: the forward operator it came through, None for a seed."""

    gradient: Gradient
    how: How
    index: int | None
    position: int | None


class Rename(msgspec.Struct, frozen=True, gc=False):
    """Gradient operator `position` now writes `new` in output `slot` where it had `old`.

    Slot -1: it only reads it. A later step of a rule also reads `new` where it read `old`.
    """

    position: int
    slot: int
    old: str
    new: str


class Accumulated(Event, frozen=True, gc=False):
    """Gradients of `blob` at `version` are added up by `operators` into `gradient`.

    In a pass that is generated all are in by now. In one that runs, each is added when it arrives: `so_far` have.
    """

    changes = ("gradient_generators",)
    index: int
    blob: str
    version: int
    contributions: list[Contribution]
    renames: list[Rename]
    operators: list[Operator]
    position: int
    gradient: Gradient
    so_far: int | None = None


Writing = Literal["new", "added", "replaced", "dropped"]
"""What became of ``grad`` of a Variable: there was none, another pass had left one, or it keeps none."""


class GradWritten(Event, frozen=True, gc=False):
    """``grad`` of the Variable `blob` becomes `after`, where it was `before`: blobs, None where there is none.

    `gradient` is what the pass brought.
    """

    blob: str
    how: Writing
    gradient: Gradient | None
    before: str | None
    after: str | None


class Completed(Event, frozen=True, gc=False):
    """The pass is whole; `gradients` maps each blob to its gradient."""

    gradients: dict[str, Gradient]


Aggregator = Literal["sum", "mean"]
"""What becomes of rows of equal index: their sum, which keeps a gradient's meaning, or their mean."""


class Deduplicated(Event, frozen=True, gc=False):
    """Rows of equal index in the gradient of `blob` at `version` are merged by `operators`: `before` became `after`.

    `position` is the first of the operators among all gradient operators.
    """

    blob: str
    version: int
    before: GradientSlice
    after: GradientSlice
    aggregator: Aggregator
    operators: list[Operator]
    position: int


class HookRan(Event, frozen=True, gc=False):
    """A hook of the user's changed the gradient of `blob` at `version` before it was read: `before` became `after`.

    It stands in the program as `operators`, the first of them gradient operator `position`. `index`: the forward
    operator that made the blob; None: it is a leaf. `hooks`: those that the blob has, in the order in which they run,
    as ``clip at net.py:12``, as far as they are known.
    """

    index: int | None
    blob: str
    version: int
    before: Gradient
    after: Gradient
    operators: list[Operator]
    position: int
    hooks: tuple[str, ...] = ()


class ChangedByHand(Event, frozen=True, gc=False):
    """Somebody gave `blob` another value while the pass stood still: `version` of it, where it was the version before.

    What was computed from that is stale. An operator of the net puts the value in place, the one that was played last;
    or, in a backward pass, one of `operators`, the first of them gradient operator `position`.
    """

    blob: str
    version: int
    operators: list[Operator] = []
    position: int | None = None


class EnteredSubnet(Event, frozen=True, gc=False):
    """What follows happens in the net `name`, the `argument` of operator `index`; `iteration` counts rounds of a loop.

    While a pass is generated, `index` is that of a forward operator; while one runs, that of an operator of the whole
    program, or of the nested net.
    """

    index: int
    argument: str
    name: str
    iteration: int | None = None

    @property
    def inner_path(self) -> tuple[str, ...]:
        """The `path` of what follows."""
        return (*self.path, element(self.index, self.argument, self.iteration))


class LeftSubnet(Event, frozen=True, gc=False):
    """What the `EnteredSubnet` of the same fields began has ended."""

    index: int
    argument: str
    name: str
    iteration: int | None = None


class Failed(Event, frozen=True, gc=False):
    """The pass stopped with an error; the fields are those of the GradvizError."""

    error: str
    message: str
    explanation: str
    index: int | None
    blobs: list[str]
    ways_out: list[str] = []
    versions: list[str] = []

    @classmethod
    def of(cls, error: GradvizError, index: int | None, path: tuple[str, ...] = ()) -> "Failed":
        """The event of `error`, met at operator `index` of the net at `path`."""
        return cls(
            error.kind,
            error.message,
            error.explain(),
            index,
            list(map(str, error.blobs)),
            list(error.ways_out),
            list(error.versions),
            path=path,
        )


class Ran(Event, frozen=True, gc=False):
    """Operator `position` of the whole program (forward, then gradient operators) was executed in `seconds`.

    Of what had run before the recording began, no time is known.
    """

    position: int
    op: Operator
    in_versions: tuple[int, ...]
    out_versions: tuple[int, ...]
    device: str
    seconds: float | None


KINDS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
"""Every kind of event."""

BRING_OPERATORS: tuple[type[Event], ...] = (Seeded, RuleApplied, Accumulated, Deduplicated, HookRan, ChangedByHand)
"""Kinds of events with which gradient operators come."""

AnyEvent: Any = Union[KINDS]  # noqa: UP007 what | cannot do
"""Every event, for decoding one from plain data."""


def gradient_operators(event: Event) -> Sequence[Operator]:
    """The gradient operators that come with an event."""
    match event:
        case Seeded():
            return [] if event.operator is None else [event.operator]
        case RuleApplied() | Accumulated() | Deduplicated() | HookRan() | ChangedByHand():
            return event.operators
    return []


def outermost_operators(event: Event) -> Sequence[Operator]:
    """The gradient operators around all nested nets that come with an event."""
    return [] if event.path else gradient_operators(event)


def stopped(error: GradvizError, events: Iterable[Event]) -> Failed:
    """The event of an error that a pass has met after `events`; it names the innermost net that it happened in."""
    path: tuple[str, ...] = ()
    visited: dict[tuple[str, ...], int] = {}
    for event in events:
        if isinstance(event, EnteredSubnet):
            path = event.inner_path
        elif isinstance(event, LeftSubnet):
            path = event.path
        elif isinstance(event, Visited):
            visited[event.path] = event.index
    return Failed.of(error, visited.get(path) if path else error.operator_index, path)


def to_dict(event: Event) -> dict[str, Any]:
    """The event's own fields as plain data, with its name under ``"event"``."""
    data: dict[str, Any] = msgspec.to_builtins(event, enc_hook=shown_argument)
    return data


def from_dict(data: Mapping[str, Any]) -> Event:
    """The event that `to_dict` described.

    Raises:
        msgspec.ValidationError: it is none. NetError: an operator in it has a malformed nested net.
    """
    return completed(msgspec.convert(data, AnyEvent))


def from_dicts(data: Iterable[Mapping[str, Any]]) -> list[Event]:
    """The events that `to_dict` described, several times as fast as one by one; raises what `from_dict` does."""
    return list(map(completed, msgspec.convert(list(data), list[AnyEvent])))


def completed(event: Event) -> Event:
    """The event with the nested nets of its operators as nets."""
    if isinstance(event, Played | Ran) and event.op.args:
        position = event.index if isinstance(event, Played) else event.position
        return msgspec.structs.replace(event, op=with_nets(event.op, position))
    if isinstance(event, RuleApplied) and any(op.args for op in event.operators):
        operators = [with_nets(op, at) if op.args else op for at, op in enumerate(event.operators, event.position)]
        return msgspec.structs.replace(event, operators=operators)
    return event
