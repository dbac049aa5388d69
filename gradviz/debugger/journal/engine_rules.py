"""The rules that an engine must keep: each event and mapping of values that it yields is checked against them.

the net        is played first, whole: operators are numbered from 0, gradient operators after them
versions       a name that nobody wrote is version 0 where it is read; an output is the next version of its name
gradients      are names that an operator has written or read, or that were given with a seed; they arrive where the
               rule of an operator has given one
values         belong to a leaf, or come at or before the Ran or GradWritten of their blob version, once
by hand        a value is changed by the operator played last, or in the pass by those of the event
a pass         begins with Seeded and ends with Completed or Failed; then operators run and grads are written
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from ...operators.registry import NUMERIC, Array
from ...program import Gradient, GradvizError, Operator
from ...program.control_flow import NETS
from ...program.errors import message_of
from ...program.events import (
    Accumulated,
    ChangedByHand,
    Completed,
    Deduplicated,
    EnteredSubnet,
    Event,
    Failed,
    GeneratorAdded,
    GradWritten,
    HookRan,
    InputChecked,
    LeftSubnet,
    Played,
    Ran,
    Rename,
    RuleApplied,
    Seeded,
    Visited,
    Waiting,
    from_dict,
    to_dict,
)
from ...program.net_halves import Key
from ...program.operator import BlobVersion, Device, Ssa, check_name, check_operator, parts_of, play, version_in
from ...program.renaming import renamed, steps_renamed
from ...runtime.devices import copied, device_of, is_on_gpu
from .gradient_shapes import are_rows

MOST_RANK = 10**9
AFTER_THE_PASS = (Ran, GradWritten, Deduplicated, Failed)


class Broken(Exception):
    """A rule that was broken, in words; `before`: by values that came before so many events."""

    def __init__(self, rule: str, *blobs: str, before: int | None = None) -> None:
        super().__init__(rule)
        self.rule = rule
        self.blobs = blobs
        self.before = before


class Program:
    """The operators so far, forward, then gradient operators, with their versions.

    Attributes:
        names: that operators read or write, and of gradients that were given.
    """

    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self.names: set[str] = set()
        self._numbered: list[Ssa[BlobVersion]] = []
        self._blobs: dict[str, list[BlobVersion]] = {}

    def append(self, operators: Iterable[Operator]) -> None:
        """Operators join."""
        for op in operators:
            try:
                check_operator(op, len(self.operators))
            except GradvizError as error:
                raise Broken(error.message) from None
            if op.type in NETS:
                raise Broken(f"{op.type} runs nested nets, and those of other engines are not recorded", *op.outputs)
            if len(set(op.outputs)) < len(op.outputs):
                raise Broken(f"{op} writes one name twice", *op.outputs)
            self.operators.append(op)
            self.names.update(op.inputs, op.outputs)

    def rename(self, rename: Rename, *, reads: bool) -> None:
        """An operator writes, or `reads`, another name."""
        self.operators[rename.position] = renamed(self.operators[rename.position], rename, reads=reads)
        self.names.add(rename.new)
        self._numbered, self._blobs = [], {}

    def numbered(self) -> list[Ssa[BlobVersion]]:
        """Every operator with its versions."""
        for op in self.operators[len(self._numbered) :]:
            self._numbered.append(play(op, self._blobs, BlobVersion))
        return self._numbered

    def latest(self, name: str) -> int:
        """The last version of a name."""
        self.numbered()
        return self._blobs[name][-1].version if name in self._blobs else 0


class EngineRules:
    """What an engine has yielded, as far as it keeps the rules.

    Attributes:
        events: what has happened.
        program: the operators.
        forward: how many of them are those of the net.
        ys: where the pass started -> the gradient that was given, None for ones.
        values: of leaves, of what has run, and of every ``grad`` written.
        given: values whose events are still to come, each with the number of events before it.
    """

    def __init__(self, given: Mapping[Key, tuple[Array, int]] | None = None) -> None:
        self.events: list[Event] = []
        self.program = Program()
        self.forward = 0
        self.ys: dict[str, Gradient | None] = {}
        self.values: dict[Key, Array] = {}
        self.given = dict(given or {})
        self._ran: set[int] = set()
        self._done: set[Key] = set()
        self._arrived: Counter[Key] = Counter()
        self._grads: Counter[str] = Counter()
        self._totals: dict[int, tuple[Key, Gradient, range]] = {}
        self._visited: int | None = None
        self._applied: dict[int, list[Gradient | None]] = {}
        self._is_over = False

    def take_values(self, values: Mapping[Any, Any]) -> None:
        """Values of blob versions."""
        for name, value in values.items():
            key = _version(name)
            if key in self.given or key in self.values:
                raise Broken(f"{name} is given a value twice", key[0])
            if key in self._done:
                raise Broken(f"the value of {name} must come at or before what writes it, not after", key[0])
            self.given[key] = _array(name, value), len(self.events)

    def take(self, event: Event) -> None:
        """An event; where it breaks a rule, `values` and `program` may have taken it in part."""
        event = _well_formed(event)
        if self.events and isinstance(self.events[-1], Failed):
            raise Broken("nothing happens after Failed")
        if event.path or isinstance(event, EnteredSubnet | LeftSubnet):
            raise Broken("nested nets of other engines cannot be recorded")
        if self._is_over and not isinstance(event, AFTER_THE_PASS):
            raise Broken("the pass is over with Completed")
        if not self.ys and not isinstance(event, Played | Ran | ChangedByHand | Seeded | Failed):
            raise Broken("a pass begins with Seeded")
        if not isinstance(event, Played):
            self._places(getattr(event, "index", None), *[one.index for one in _waiting(event)])
        match event:
            case Played():
                self._play(event)
            case Seeded():
                self._seed(event)
            case Visited():
                self._gradients(event.g_output, self.program.operators[event.index].outputs)
                self._visited = event.index
            case RuleApplied():
                self._apply(event)
            case InputChecked():
                self._backward(event.position)
            case GeneratorAdded():
                self._arrive(event)
            case Accumulated():
                self._accumulate(event)
            case Deduplicated() | HookRan():
                self._replace(event)
            case ChangedByHand():
                self._change(event)
            case Ran():
                self._run(event)
            case GradWritten():
                self._write(event)
            case Completed():
                self._gradients(list(event.gradients.values()))
                self._names(*event.gradients)
                self._is_over = True
        self.events.append(event)

    def end(self) -> None:
        """Nothing more comes."""
        if not self.events:
            raise Broken("something must be yielded, and nothing was")
        if not self._is_over and not isinstance(self.events[-1], Failed):
            raise Broken("a pass ends with Completed, or with Failed")
        self.settle()
        for (name, version), (_, before) in self.given.items():
            is_written = (name, version) in self._written()
            why = "what writes it has not run" if is_written else "nobody reads or writes it"
            raise Broken(f"{name}@{version} has a value, and {why}", name, before=before)

    def settle(self) -> None:
        """The values that were given of leaves are theirs."""
        written = self._written()
        for name in self.program.names:
            if (name, 0) in self.given and (name, 0) not in written:
                self._keep((name, 0))

    @cached_property
    def _played(self) -> list[Ssa[BlobVersion]]:
        """The operators of the net, which is whole once a pass has begun."""
        return self.program.numbered()[: self.forward]

    @cached_property
    def _net(self) -> set[Key]:
        """The blob versions of the net."""
        return {blob.key for ssa in self._played for blob in (*ssa.reads, *ssa.writes)}

    def _written(self) -> set[Key]:
        """What operators write."""
        return {key for ssa in self.program.numbered() for key in ssa.written}

    def _play(self, event: Played) -> None:
        if self.ys:
            raise Broken("the net is played before the pass begins")
        if event.index != self.forward:
            raise Broken(f"operators are played in order: number {self.forward} is next, not {event.index}")
        self.program.append([event.op])
        self.forward += 1
        _same_versions(event, self.program.numbered()[event.index])

    def _seed(self, event: Seeded) -> None:
        self._blob(event.y, event.version)
        if event.y in self.ys:
            raise Broken(f"a pass starts once at {event.y}", event.y)
        if event.operator is None:
            for name in parts_of(event.gradient):
                _legal(name)
                self.program.names.add(name)
        else:
            self._join(event.position, [event.operator])
            self._writers([event.operator], event.gradient, (event.y, event.version))
        self.ys[event.y] = event.gradient if event.operator is None else None
        self._arrived[event.y, event.version] += 1

    def _apply(self, event: RuleApplied) -> None:
        if event.index != self._visited or event.index in self._applied:
            raise Broken(f"a rule is applied to the operator visited last, once, not to #{event.index}")
        self._applied[event.index] = event.g_input
        self._join(event.position, event.operators)
        inputs = self.program.operators[event.index].inputs
        self._gradients(event.g_input, inputs)
        if not set(event.unwanted) <= set(range(len(inputs))):
            raise Broken(
                f"operator #{event.index} has {len(inputs)} inputs, and {event.unwanted} are said to be unwanted"
            )

    def _arrive(self, event: GeneratorAdded) -> None:
        self._blob(event.blob, event.version)
        self._gradients([event.gradient])
        self._backward(event.position)
        reads = self._played[event.index].reads
        given = list(zip([one.key for one in reads], self._applied.get(event.index, ()), strict=False))
        if ((event.blob, event.version), event.gradient) not in given:
            what = f"{event.blob}@{event.version} the gradient {event.gradient}"
            raise Broken(f"no rule of operator #{event.index} has given {what}", event.blob)
        self._arrived[event.blob, event.version] += 1
        if event.count != (count := self._arrived[event.blob, event.version]):
            raise Broken(
                f"this is gradient number {count} of {event.blob}@{event.version}, not {event.count}", event.blob
            )

    def _accumulate(self, event: Accumulated) -> None:
        self._blob(event.blob, event.version)
        for rename, reads in steps_renamed(event.renames):
            self._rename(rename, reads=reads)
        self._gradients([term.gradient for term in event.contributions])
        for term in event.contributions:
            self._places(term.index)
            self._backward(term.position)
        if not event.operators or not event.contributions:
            raise Broken("gradients are added up by operators", event.blob)
        self._join(event.position, event.operators)
        self._writers(event.operators, event.gradient, (event.blob, event.version))
        count = self._arrived[event.blob, event.version]
        if event.so_far is not None and not len(event.contributions) <= event.so_far == count:
            raise Broken(
                f"{count} gradients of {event.blob}@{event.version} have arrived, not {event.so_far}", event.blob
            )

    def _rename(self, rename: Rename, *, reads: bool) -> None:
        self._backward(rename.position)
        _legal(rename.new)
        position = self.forward + rename.position
        op = self.program.operators[position]
        if position in self._ran:
            raise Broken(f"what has run is not renamed: {op}", rename.old)
        if not -1 <= rename.slot < len(op.outputs) or (rename.slot >= 0 and op.outputs[rename.slot] != rename.old):
            raise Broken(f"{op} does not write {rename.old} as its output {rename.slot}", rename.old)
        moved = msgspec.structs.replace(rename, position=position)
        self.program.rename(moved, reads=reads)

    def _replace(self, event: Deduplicated | HookRan) -> None:
        self._blob(event.blob, event.version)
        self._gradients([event.before])
        if isinstance(event, Deduplicated) and (not self._is_over or len(event.operators) != 2):
            raise Broken("rows are merged by two operators, once the pass is complete", event.blob)
        self._join(event.position, event.operators)
        self._writers(event.operators, event.after, (event.blob, event.version))

    def _change(self, event: ChangedByHand) -> None:
        if self.ys and event.operators:
            self._join(event.position, event.operators)
        elif self.ys or event.operators:
            raise Broken(
                "a blob is changed by the operator played last, or in the pass by those of the event", event.blob
            )
        written = [name for op in event.operators or self.program.operators[-1:] for name in op.outputs]
        if event.blob not in written or not 0 < event.version == self.program.latest(event.blob):
            raise Broken(f"what changes {event.blob} writes the next version of it, not {event.version}", event.blob)

    def _run(self, event: Ran) -> None:
        operators = self.program.operators
        if not 0 <= event.position < len(operators):
            raise Broken(f"there is no operator #{event.position}: {len(operators)} are there by now")
        if event.position in self._ran:
            raise Broken(f"operator #{event.position} has run before")
        op = operators[event.position]
        if (event.op.type, event.op.inputs, event.op.outputs) != (op.type, op.inputs, op.outputs):
            raise Broken(f"operator #{event.position} is {op}, not {event.op}", *event.op.outputs)
        ssa = self.program.numbered()[event.position]
        _same_versions(event, ssa)
        try:
            Device.parse(event.device)
        except GradvizError as error:
            raise Broken(error.message) from None
        if event.seconds is not None and not 0 <= event.seconds < float("inf"):
            raise Broken(f"an operator runs for 0 seconds or more, not {event.seconds}")
        self._ran.add(event.position)
        for key in ssa.written:
            self._keep(key)
        self._check_total(event.position)

    def _write(self, event: GradWritten) -> None:
        self._blob(event.blob, 0)
        self._gradients([] if event.gradient is None else [event.gradient])
        for name in (event.before, event.after):
            if name is None:
                continue
            blob, version = _version(name)
            _legal(blob)
            if version > self._grads[blob] or blob in self.program.names:
                raise Broken(f"{name} is no version of a grad: {blob}@{self._grads[blob]} is next", blob)
            self._grads[blob] = max(self._grads[blob], version + 1)
            self._keep((blob, version))
            array, like = self._value((blob, version)), self._value((event.blob, self.program.latest(event.blob)))
            if array is not None and like is not None and array.shape != like.shape:
                raise Broken(f"{name} {array.shape} does not fit {event.blob} {like.shape}", blob, event.blob)

    def _value(self, key: Key) -> Array | None:
        return self.given[key][0] if key in self.given else self.values.get(key)

    def _keep(self, key: Key) -> None:
        """The value of a blob version, if there is one, is there from now on."""
        self._done.add(key)
        if key in self.given:
            self.values[key] = self.given.pop(key)[0]

    def _join(self, position: int | None, operators: Sequence[Operator]) -> None:
        """Gradient operators join the program, the first of them number `position`."""
        count = len(self.program.operators) - self.forward
        if position != count and operators:
            raise Broken(f"gradient operator number {count} is next, not {position}")
        self.program.append(operators)

    def _places(self, *indices: int | None) -> None:
        """Of forward operators; None: an event is about none."""
        for index in indices:
            if index is not None and not 0 <= index < self.forward:
                raise Broken(f"the net has no operator #{index}: there are {self.forward}")

    def _backward(self, position: int | None) -> None:
        """Of a gradient operator; None: none made it."""
        count = len(self.program.operators) - self.forward
        if position is not None and not 0 <= position < count:
            raise Broken(f"there is no gradient operator number {position}: there are {count}")

    def _blob(self, name: str, version: int) -> None:
        if (name, version) not in self._net:
            raise Broken(f"{name}@{version} is no blob version of the net", name)

    def _names(self, *names: str) -> None:
        for name in names:
            if name not in self.program.names:
                raise Broken(f"nobody reads or writes {name}", name)

    def _gradients(self, gradients: Sequence[Gradient | None], of: Sequence[str] | None = None) -> None:
        if of is not None and len(gradients) != len(of):
            raise Broken(f"there are {len(gradients)} gradients for {len(of)} blobs: {', '.join(of)}", *of)
        for gradient in gradients:
            self._names(*parts_of(gradient))

    def _writers(self, operators: Sequence[Operator], gradient: Gradient, of: Key) -> None:
        """The last of the program, `operators`, write a gradient of a blob version."""
        written = {name for op in operators for name in op.outputs}
        for name in parts_of(gradient):
            if name not in written:
                raise Broken(f"none of its operators writes the gradient {name}", name)
        count = len(self.program.operators)
        self._totals[count - 1] = of, gradient, range(count - len(operators), count)

    def _check_total(self, position: int) -> None:
        """The gradient that an operator has completed has the shape of its blob, or rows of it."""
        of, gradient, places = self._totals.get(position, (("", 0), "", range(0)))
        ssas = map(self.program.numbered().__getitem__, places)
        versions = {key[0]: key for ssa in ssas for key in ssa.written}
        halves = [self._value(versions.get(name, ("", 0))) for name in parts_of(gradient)]
        arrays, like = [half for half in halves if half is not None], self._value(of)
        if like is None or not arrays or len(arrays) < len(halves):
            return
        if not (are_rows(arrays[0], arrays[1], like) if len(arrays) == 2 else arrays[0].shape == like.shape):
            raise Broken(f"{gradient} {arrays[-1].shape} does not fit {of[0]}@{of[1]} {like.shape}", of[0])
        if arrays[-1].dtype.kind == "c" != like.dtype.kind:
            raise Broken(f"{gradient} ({arrays[-1].dtype}) does not fit {of[0]}@{of[1]} ({like.dtype})", of[0])


def _well_formed(event: Event) -> Event:
    """The event with its fields as they must be, whatever they were given as."""
    try:
        data = to_dict(event)
        msgspec.json.encode(data)
        well_formed = from_dict(data)
    except (TypeError, ValueError, OverflowError, RecursionError, GradvizError) as error:
        raise Broken(f"its fields must be those of {event.kind}: {error}") from None
    counts = [getattr(event, "rank", 0), getattr(event, "waits", 0)]
    for number in [*counts, *[count for one in _waiting(event) for count in (one.arrival, one.rank)]]:
        if number is not None and not 0 <= number <= MOST_RANK:
            raise Broken(f"ranks and arrivals count from 0, and {str(number)[:20]} is none")
    return well_formed


def _waiting(event: Event) -> list[Waiting]:
    """The functions in the heap that an event names."""
    queued = getattr(event, "queued", None)
    return [*getattr(event, "waiting", ()), *([] if queued is None else [queued])]


def _same_versions(event: Played | Ran, ssa: Ssa[BlobVersion]) -> None:
    for what, blobs, versions in (("reads", ssa.reads, event.in_versions), ("writes", ssa.writes, event.out_versions)):
        if len(blobs) != len(versions):
            raise Broken(f"{event.op} {what} {len(blobs)} blobs, and {len(versions)} versions are given")
        for blob, version in zip(blobs, versions, strict=True):
            if blob.version != version:
                raise Broken(f"{event.op} {what} {blob}, not {blob.name}@{version}", blob.name)


def _version(name: object) -> Key:
    key = version_in(name) if isinstance(name, str) else None
    if key is None:
        raise Broken(f"{name!r} is no blob version, such as 'x@0'")
    return key


def _legal(name: str) -> None:
    try:
        check_name(name, "gradient")
    except GradvizError as error:
        raise Broken(error.message, name) from None


def _array(name: object, value: Any) -> Array:
    """A value as an array that nobody changes."""
    if is_on_gpu(value):
        return copied(value, device_of(value))
    try:
        array = np.array(value)
    except Exception as error:  # a tensor that requires a gradient says RuntimeError
        raise Broken(f"the value of {name} is no array: {message_of(error)}") from None
    if array.dtype.kind not in NUMERIC:
        raise Broken(f"the value of {name} must consist of numbers, not of {array.dtype}")
    array.setflags(write=False)
    return array
