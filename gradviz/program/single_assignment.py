"""Programs in which nothing is overwritten: every version of a blob under a name of its own, in nested nets too.

Do      reads the version before it and writes the one after it, and so do the operators of its net
If      each branch writes every output: what it leaves as it is it copies, so that no version is lost
While   carries a blob from one iteration to the next under one name, a copy of the version before the loop
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from .control_flow import NETS, implicit_inputs, nested_nets, reads_from_outside, renamed, scopes_of, surely_written
from .control_flow import take_apart as parts_of_do
from .net import NetDef
from .operator import Operator, numbered_name

Draws = Callable[[Operator], bool]
"""Whether an operator draws random numbers, which depend on the name of its first output."""


Became = Callable[[Operator, Sequence[Operator]], None]
"""Takes an operator of a program, and those that it has become."""


def without_overwriting(operators: Sequence[Operator], draws: Draws, became: Became) -> list[Operator]:
    """The same program with a name of its own for every version, so that nothing is overwritten.

    What the program reads from outside keeps its name; of a blob made inside, the last version keeps it. The others
    are called ``<name>_<version>``, or the next free number. The stack in a scope is one blob from CreateScope on,
    whoever puts workspaces on it. Where operators continue in workspaces that others left, as those of a backward pass
    do, the nets of Dos stay as they are: blobs are found there by name.

    Args:
        draws: tells the operators that are to draw, under a new name, what they draw under theirs.
        became: is told of each operator, in nested nets too, what it has become.
    """
    keeps_nets = any(map(_continues, operators))
    return _Renaming(operators, {}, {}, draws, became, _names_in(operators), keeps_nets).operators()


class _Renaming:
    """One net on its way into single assignment form.

    Args:
        entering: blob that is there before the net -> the name that it has.
        leaving: blob that is read behind the net -> the name that its last version shall have.
        taken: the names in its workspace; those that it makes join them.
        keeps_nets: whether the nets of Dos stay as they are.
    """

    def __init__(
        self,
        operators: Sequence[Operator],
        entering: Mapping[str, str],
        leaving: Mapping[str, str],
        draws: Draws,
        became: Became,
        taken: set[str],
        keeps_nets: bool,
    ) -> None:
        self._program = operators
        self._leaving = leaving
        self._draws = draws
        self._became = became
        self._taken = taken
        self._keeps_nets = keeps_nets
        self._last = {name: at for at, op in enumerate(operators) for name in _written_by(op)}
        self._now = dict(entering)
        self._version = dict.fromkeys(entering, 0)
        self._internal: set[str] = set()

    def operators(self) -> list[Operator]:
        """The net in single assignment form."""
        ops = self._set_aside()
        for at, op in enumerate(self._program):
            new = self._flow(op, at) if op.type in NETS else [self._renamed(op, at)]
            self._became(op, new)
            ops += new
        return ops + [
            Operator("Copy", [self._now[blob]], [name])
            for blob, name in self._leaving.items()
            if self._now.get(blob, name) != name
        ]

    def _set_aside(self) -> list[Operator]:
        """Copies of what the net finds under the names that its last versions shall have, and reads."""
        needed = {*reads_from_outside(self._program), *(name for op in self._program for name in implicit_inputs(op))}
        copies = []
        for blob in self._last:
            if blob in needed and blob in self._now and self._now[blob] == self._leaving.get(blob):
                self._now[blob] = self._numbered(blob, 0)
                copies.append(Operator("Copy", [self._leaving[blob]], [self._now[blob]]))
        return copies

    def _renamed(self, op: Operator, at: int) -> Operator:
        inputs = [self._read(name) for name in op.inputs]
        outputs = [self._write(name, at, is_sure=True) for name in op.outputs]
        args = op.args
        if outputs[:1] != op.outputs[:1] and self._draws(op):
            args = {"drawn_for": op.outputs[0], **args}
        return msgspec.structs.replace(op, inputs=inputs, outputs=outputs, args=args)

    def _flow(self, op: Operator, at: int) -> list[Operator]:
        """A control operator, after the copies that it needs."""
        for name in op.inputs:
            self._read(name)
        read = {*op.inputs, *implicit_inputs(op)}
        # What it may leave as it is, and what nothing wrote before, is there under its own name if at all.
        before = {name: self._now.get(name, name) for name in read}
        after = self._after(op, at)
        if op.type == "If":
            return [self._if(op, before, after)]
        if op.type == "Do" and not self._keeps_nets:
            return [self._do(op, before, after)]
        worked_on = {name: after[name] for name in op.outputs if name in before}
        copies = [Operator("Copy", [before[name]], [copy]) for name, copy in worked_on.items() if before[name] != copy]
        loop = self._with_nets(renamed(op, before | worked_on, after))
        self._follow(op, loop)
        return [*copies, loop]

    def _follow(self, op: Operator, loop: Operator) -> None:
        """Tell what the operators in the nets of a loop, or of an If in one, have become: as many as before."""
        if op.type != "Do":
            for argument, net in nested_nets(loop).items():
                for one, new in zip(nested_nets(op)[argument].ops, net.ops, strict=True):
                    self._became(one, [new])
                    self._follow(one, new)

    def _after(self, op: Operator, at: int) -> dict[str, str]:
        """The names of the outputs of a control operator; the stack in a scope keeps its name."""
        sure, scopes = surely_written(op), scopes_of(op)
        return {
            name: self._read(name) if name in scopes else self._write(name, at, is_sure=name in sure)
            for name in op.outputs
        }

    def _if(self, op: Operator, before: Mapping[str, str], after: Mapping[str, str]) -> Operator:
        """An If whose branches write all of its outputs."""
        scopes, nets, args = scopes_of(op), nested_nets(op), dict(op.args)
        leaving = {name: new for name, new in after.items() if name not in scopes}
        inputs = [before[name] for name in op.inputs]
        outputs = list(after.values())
        for argument in NETS["If"]:
            net = nets.get(argument, NetDef(argument))
            draws, became = self._draws, self._became
            ops = _Renaming(net.ops, before, leaving, draws, became, self._taken, self._keeps_nets).operators()
            inputs += reads_from_outside(ops)
            outputs += [name for nested in ops for name in nested.outputs]
            if ops or argument in nets:
                args[argument] = NetDef(net.name, ops)
        unique = {"inputs": list(dict.fromkeys(inputs)), "outputs": list(dict.fromkeys(outputs))}
        return msgspec.structs.replace(op, args=args, **unique)

    def _do(self, op: Operator, before: Mapping[str, str], after: Mapping[str, str]) -> Operator:
        """A Do that reads `before` and writes `after`; where both names are the same, it works in place."""
        do = parts_of_do(op, 0)
        taken = _names_in(do.net.ops) | do.outer.keys()
        entering = {inner: inner for inner, outer in do.outer.items() if outer in before}
        leaving = {
            inner: numbered_name(inner, taken.__contains__)
            if inner in entering and before[do.outer[inner]] != after[do.outer[inner]]
            else inner
            for inner in do.initial
        }
        taken.update(leaving.values())
        ops = _Renaming(do.net.ops, entering, leaving, self._draws, self._became, taken, False).operators()
        inputs = list(dict.fromkeys([*do.inputs, *(do.outer[inner] for inner in leaving if leaving[inner] != inner)]))
        places = {inner: inputs.index(outer) for inner, outer in do.outer.items() if outer in inputs}
        for place, blob in enumerate(do.outputs, len(inputs)):
            places.setdefault(leaving[do.inner[blob]], place)
        bound = {"inner_blobs": list(places), "outer_blobs_idx": list(places.values())}
        return msgspec.structs.replace(
            op,
            inputs=[before[name] for name in (*inputs, do.scope)],
            outputs=list(after.values()),
            args={**op.args, "net": NetDef(do.net.name, ops), **bound},
        )

    def _with_nets(self, op: Operator) -> Operator:
        """`op`, a loop or in one, with the nets of the Dos in it in single assignment form."""
        if self._keeps_nets or op.type not in NETS:
            return op
        if op.type == "Do":
            same = {name: name for name in (*op.inputs, *op.outputs)}
            return self._do(op, same, {name: name for name in op.outputs})
        nets = {name: NetDef(net.name, map(self._with_nets, net.ops)) for name, net in nested_nets(op).items()}
        return msgspec.structs.replace(op, args=op.args | nets)

    def _read(self, name: str) -> str:
        self._version.setdefault(name, 0)
        return self._now.setdefault(name, name)

    def _write(self, name: str, at: int, *, is_sure: bool) -> str:
        """The name of the next version of `name`."""
        if name not in self._version:
            if not is_sure:  # it may be fed: then it stays where it is
                self._version[name] = 1
                return self._read(name)
            self._version[name] = -1
            self._internal.add(name)
        self._version[name] += 1
        if self._last[name] == at and name in self._leaving:
            new = self._leaving[name]
        elif self._last[name] == at and name in self._internal:
            new = name
        else:
            new = self._numbered(name, self._version[name])
        self._now[name] = new
        return new

    def _numbered(self, name: str, version: int) -> str:
        numbered = numbered_name(name, self._taken.__contains__, version)
        self._taken.add(numbered)
        return numbered


def _written_by(op: Operator) -> Iterator[str]:
    """The blobs of which `op` writes a version; the stack in a scope has none."""
    scopes = scopes_of(op) if op.type in NETS else ()
    return (name for name in op.outputs if name not in scopes)


def _names_in(operators: Sequence[Operator]) -> set[str]:
    """The names in the workspace of `operators`, in nets on it too."""
    names = {name for op in operators for name in (*op.inputs, *op.outputs)}
    nets = [net for op in operators if op.type != "Do" for net in nested_nets(op).values()]
    return names.union(*(_names_in(net.ops) for net in nets))


def _continues(op: Operator) -> bool:
    """Whether `op`, or one in it, is a Do in a workspace that another one left."""
    if op.type == "Do" and ("saved_fwd_blobs" in op.args or op.args.get("reuse_workspace")):
        return True
    return any(_continues(nested) for net in nested_nets(op).values() for nested in net.ops)
