"""Control flow as data: the operators that run nested nets, their parts, and what they read and write.

    Do      runs `net` in a workspace of its own, in which inner names stand for outer blobs, and keeps that workspace
            on the stack of the scope blob, its last input and last output
    If      runs `then_net` or `else_net` on the blobs around it
    While   runs `cond_net` and, as long as the condition holds, `loop_net` and `cond_net` again, on those blobs too

A nested net is an argument of its operator. What an operator does with the blobs around it is said by its inputs and
outputs alone: a nested net may touch nothing else.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from .errors import GradvizError, NetError, repr_of
from .net import NetDef
from .operator import BlobVersion, Operator

INNER_GRADIENT = "/_DO_OPERATOR_INNER_GRAD_"
"""Ends the name of an incoming gradient in the net of a Do's backward pass, after the name of the inner blob."""

INNER_RESULT = "/_DO_OPERATOR_INNER_GRAD_COPY_"
"""Ends the name of a gradient that leaves such a net."""

DUPLICATE = "_DEDUP"
"""In the name of a gradient's copy for one of several outputs that it arrives at."""

RUNNING_SUM = "/_DO_OPERATOR_INNER_GRAD_SUM_"
"""Ends the name of a sum over iterations in the net of a loop's backward pass, after the name of the inner blob."""

NETS = {"Do": ("net",), "If": ("then_net", "else_net"), "While": ("cond_net", "loop_net")}
"""The operator types that run nested nets, and the arguments that hold these, in the order in which they run."""

E = TypeVar("E", bound=GradvizError)


class Fault(msgspec.Struct, frozen=True):
    """Makes the errors, of the type that the caller raises, of one misbuilt operator at its place in its net."""

    op: Operator
    index: int
    error: type[GradvizError]

    def __call__(self, what: str, way_out: str, blobs: Sequence[str] = ()) -> GradvizError:
        return self.error(
            f"Operator #{self.index} {self.op} {what}.",
            kind="control_flow_structure",
            operator_index=self.index,
            blobs=blobs,
            ways_out=[way_out],
        )


def nested_nets(op: Operator) -> dict[str, NetDef]:
    """The nested nets of `op` by the argument that holds them, in the order in which they run."""
    return {name: op.args[name] for name in NETS.get(op.type, ()) if isinstance(op.args.get(name), NetDef)}


def operators_in(op: Operator) -> Iterator[Operator]:
    """The operators in the nested nets of `op`, those in the nets of each right behind it."""
    for net in nested_nets(op).values():
        for nested in net.ops:
            yield nested
            yield from operators_in(nested)


class Do(msgspec.Struct, frozen=True):
    """A Do operator taken apart.

    Attributes:
        net: the nested net.
        scope: the blob that holds the stack of workspaces.
        inputs, outputs: the outer blobs that it may read, and those that it writes, without `scope`.
        outer: inner name -> the outer blob that it stands for.
        inner: the reverse.
        pops: whether it is part of a backward pass: it takes the top workspace off the stack and continues in it.
        reuses: whether it continues in a copy of the top workspace, and keeps that on top of it.
    """

    net: NetDef
    scope: str
    inputs: list[str]
    outputs: list[str]
    outer: dict[str, str]
    inner: dict[str, str]
    pops: bool
    reuses: bool

    @property
    def initial(self) -> list[str]:
        """The inner names of outputs: they count as there from the start, as their outer blobs may be."""
        return [self.inner[blob] for blob in self.outputs]


def take_apart(op: Operator, index: int, error: type[GradvizError] = NetError) -> Do:
    """The parts of a Do operator.

    Raises:
        `error` with kind ``control_flow_structure``, for each way in which a Do can be misbuilt.
    """
    fault = Fault(op, index, error)
    net = op.args.get("net")
    if not isinstance(net, NetDef):
        raise fault("has no nested net", 'Give it one as its argument "net".')
    inner_names, places = op.args.get("inner_blobs"), op.args.get("outer_blobs_idx")
    if not _is_list_of(inner_names, str):
        raise fault("has no list of names as inner_blobs", "List the names by which its net knows the outer blobs.")
    if not _is_list_of(places, int):
        raise fault(
            "has no list of integers as outer_blobs_idx", "List the number of the outer blob for each inner one."
        )
    if len(inner_names) != len(places):
        raise fault(
            f"binds {len(inner_names)} inner blobs to {len(places)} outer ones", "Give each inner blob one outer blob."
        )
    if not (op.inputs and op.outputs and op.inputs[-1] == op.outputs[-1]):
        raise fault("has no scope blob", "Make one with CreateScope, and give it as the last input and last output.")
    for what, names in (("inner_blobs", inner_names), ("inputs", op.inputs), ("outputs", op.outputs)):
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise fault(f"names {twice} twice among its {what}", "Name it once.", [twice])
    inputs, outputs = op.inputs[:-1], op.outputs[:-1]
    candidates = [*inputs, *outputs]
    outer: dict[str, str] = {}
    inner: dict[str, str] = {}
    for name, place in zip(inner_names, places, strict=True):
        if not 0 <= place < len(candidates):
            raise fault(
                f"binds {name} to outer blob number {place} of {len(candidates)}",
                "Numbers count the inputs from 0, then the outputs, the scope blob left out.",
                [name],
            )
        blob = candidates[place]
        if blob in inner:
            raise fault(f"binds {blob} to {inner[blob]} and to {name}", "Bind each outer blob once.", [blob])
        outer[name], inner[blob] = blob, name
    for blob in outputs:
        if blob not in inner:
            raise fault(
                f"lists {blob} among its outputs and binds no inner blob to it", "Bind it or leave it out.", [blob]
            )
    written = set(outputs)
    for name in dict.fromkeys(name for nested in net.ops for name in nested.outputs):
        if name in outer and outer[name] not in written:
            raise fault(
                f"writes {outer[name]}, in its net {name}, which is not among its outputs",
                f"Add {outer[name]} to its outputs, or let the net write another name.",
                [outer[name]],
            )
    pops = "saved_fwd_blobs" in op.args
    if not _is_list_of(op.args.get("saved_fwd_blobs", []), str):
        raise fault("has no list of names as saved_fwd_blobs", "List what it finds in the workspace that it takes.")
    reuses = op.args.get("reuse_workspace", 0)
    if reuses not in (0, 1):
        raise fault(f"has reuse_workspace={repr_of(reuses)}", "Give 0 or 1.")
    if not (pops or reuses):
        for name in reads_from_outside(net.ops):
            if name not in outer:
                raise fault(
                    f"has a net that reads {name}, which is neither bound nor written there before",
                    f"Bind it: put {name} among its inner_blobs, with the number of an outer blob.",
                    [name],
                )
    return Do(net, op.inputs[-1], inputs, outputs, outer, inner, pops, bool(reuses))


def check_branches(op: Operator, index: int, error: type[GradvizError]) -> None:
    """Raise `error` unless If or While operator `op` has its nets, and these touch declared blobs only.

    The backward pass of an If takes the shapes of zeros from blobs that it does not declare, as Caffe2 writes it.
    """
    fault = Fault(op, index, error)
    nets = nested_nets(op)
    for argument in NETS[op.type]:
        if argument in op.args and argument not in nets:
            raise fault(f"has a {argument} that is no net", f"Give it a net as its argument {argument}, or none.")
    needed = "then_net" if op.type == "If" else "loop_net"
    if needed not in nets:
        raise fault(f"has no {needed}", f'Give it a nested net as its argument "{needed}".')
    if not op.inputs:
        raise fault("has no condition", "Give a blob with one boolean as its first input.")
    inputs, outputs = set(op.inputs), set(op.outputs)
    for argument, net in nets.items():
        for name in reads_from_outside(net.ops, shapes=not op.is_gradient):
            if name not in inputs and name not in outputs:
                raise fault(
                    f"has a {argument} that reads {name}, which is not among its inputs",
                    f"Add {name} to its inputs.",
                    [name],
                )
        for name in dict.fromkeys(name for nested in net.ops for name in nested.outputs):
            if name not in outputs:
                raise fault(
                    f"has a {argument} that writes {name}, which is not among its outputs",
                    f"Add {name} to its outputs, or put the net into a Do, in which {name} is local.",
                    [name],
                )


def check_structure(op: Operator, index: int, error: type[GradvizError] = NetError) -> None:
    """Raise `error` unless control operator `op` is built as it must be."""
    if op.type == "Do":
        take_apart(op, index, error)
    else:
        check_branches(op, index, error)


def local_to(operators: Iterable[Operator], blob: str) -> str | None:
    """The way to the net of a Do in `operators` to which `blob` is local, ``"2.loop_net/0.net"``, or None."""
    for index, op in enumerate(operators):
        bound = [inner for inner, _ in bindings(op)] if op.type == "Do" else ()
        for argument, net in nested_nets(op).items():
            way = f"{index}.{argument}"
            if op.type == "Do" and blob not in bound and any(blob in nested.outputs for nested in net.ops):
                return way
            if deeper := local_to(net.ops, blob):
                return f"{way}/{deeper}"
    return None


class Effects(NamedTuple):
    """What operators do with the blobs around them.

    Attributes:
        reads: what they read and may not have written before, in order of first reading.
        sure: what they write whatever conditions are.
        scopes: the scope blobs on whose stacks they leave workspaces, or from which they take them.
    """

    reads: dict[str, None]
    sure: set[str]
    scopes: dict[str, None]


class _CachedEffects(NamedTuple):
    """The effects of a net when it, and the nets in it, consisted of these operators.

    It does not refer to the net, which would never go.
    """

    effects: Effects
    operators: list[Operator]
    inner: dict[NetDef, list[Operator]]


_CACHE: WeakKeyDictionary[NetDef, _CachedEffects] = WeakKeyDictionary()
"""The program at each level around a net asks about it: it is gone through once, until it or a net in it changes."""


def _effects_in(net: NetDef | None) -> Effects:
    if net is None:
        return Effects({}, set(), {})
    cached = _CACHE.get(net)
    if cached is None or net.ops != cached.operators or any(one.ops != ops for one, ops in cached.inner.items()):
        effects = _effects(net.ops)
        inner: dict[NetDef, list[Operator]] = {}
        for op in net.ops:
            for nested in nested_nets(op).values():
                inner |= {nested: _CACHE[nested].operators, **_CACHE[nested].inner}
        cached = _CACHE[net] = _CachedEffects(effects, net.ops.copy(), inner)
    return cached.effects


def _effects(operators: Iterable[Operator]) -> Effects:
    reads, sure, scopes = effects = Effects({}, set(), {})
    for op in operators:
        around = _effects_around(op) if op.type in NETS else None
        read = op.inputs if around is None else [*op.inputs, *around.reads]
        reads.update({name: None for name in read if name not in sure})
        sure.update(op.outputs if around is None else around.sure)
        scopes.update({} if around is None else around.scopes)
    return effects


def _effects_around(op: Operator) -> Effects:
    """The effects of the nets of a control operator; of what they read, its outputs alone: it lists the others."""
    nets = nested_nets(op)
    reads, sure, scopes = _effects_in(nets.get(NETS[op.type][0]))
    if op.type == "Do":
        reads = dict.fromkeys(outside(op, reads))
        sure = {*outside(op, sure), *op.outputs[-1:]}.intersection(op.outputs)
        scopes = dict.fromkeys([*outside(op, scopes), *op.outputs[-1:]])
    else:
        second = _effects_in(nets.get(NETS[op.type][1]))
        if op.type == "If":
            reads, sure, scopes = reads | second.reads, sure & second.sure, scopes | second.scopes
        else:
            reads, scopes = reads | {name: None for name in second.reads if name not in sure}, second.scopes
    return Effects({name: None for name in op.outputs if name in reads}, sure, scopes)


def reads_from_outside(operators: Iterable[Operator], *, shapes: bool = True) -> list[str]:
    """The blobs that `operators` read and may not have written before, in order of first reading.

    Args:
        shapes: whether those count of which only a fill takes the shape.
    """
    if not shapes:
        operators = [msgspec.structs.replace(op, inputs=[]) if op.type == "ConstantFill" else op for op in operators]
    return list(_effects(operators).reads)


def implicit_inputs(op: Operator) -> list[str]:
    """The outputs of `op` that it reads and does not list as inputs.

    These are the ones that its nets read, and those that it may leave as they are: an If without a branch that writes
    z, and a While that runs no iteration, keep the z from before.
    """
    if op.type not in NETS:
        return []
    reads, sure, _ = _effects_around(op)
    return [name for name in op.outputs if (name not in sure or name in reads) and name not in op.inputs]


def surely_written(op: Operator) -> set[str]:
    """The outputs that `op` writes whatever its conditions are."""
    return set(_effects_around(op).sure if op.type in NETS else op.outputs)


def possibly_written(op: Operator) -> set[str]:
    """The outputs that `op` writes under some conditions at least; others it lists for nothing."""
    if op.type not in NETS:
        return set(op.outputs)
    inside = {name for net in nested_nets(op).values() for nested in net.ops for name in possibly_written(nested)}
    return {name for name in outside(op, inside) if name in op.outputs} | {*scopes_of(op)}


def bindings(op: Operator) -> Iterator[tuple[str, str]]:
    """The inner names of a Do, each with the outer blob it stands for, as far as `op` is built as it must be."""
    candidates = [*op.inputs[:-1], *op.outputs[:-1]]
    inner_names, places = op.args.get("inner_blobs"), op.args.get("outer_blobs_idx")
    if _is_list_of(inner_names, str) and _is_list_of(places, int):
        for inner, place in zip(inner_names, places, strict=False):
            if 0 <= place < len(candidates):
                yield inner, candidates[place]


def renamed(op: Operator, reads: Mapping[str, str], writes: Mapping[str, str]) -> Operator:
    """`op` with its inputs renamed by `reads` and its outputs by `writes`, in nested nets too where they work on them.

    A blob that both are about, as the z that an If may overwrite, must be called the same in both.
    """
    inputs = [reads.get(name, name) for name in op.inputs]
    outputs = [writes.get(name, name) for name in op.outputs]
    args = op.args
    if op.type in ("If", "While"):
        names = {name: reads[name] for name in op.inputs if name in reads}
        names |= {name: writes[name] for name in op.outputs if name in writes}
        args = args | {name: _renamed_net(net, names) for name, net in nested_nets(op).items()}
    return msgspec.structs.replace(op, inputs=inputs, outputs=outputs, args=args)


def _renamed_net(net: NetDef, names: Mapping[str, str]) -> NetDef:
    return NetDef(
        net.name,
        [renamed(op, names, names) for op in net.ops],
        external_inputs=[names.get(name, name) for name in net.external_inputs],
        external_outputs=[names.get(name, name) for name in net.external_outputs],
    )


def within(error: E, op: Operator, index: int, argument: str, iteration: int | None = None) -> E:
    """An error met in a nested net, told with the way to that net; its operator is the one that runs the net.

    Args:
        iteration: of a loop, from 0.
    """
    round_ = "" if iteration is None else f", iteration {iteration}"
    way = f"In the {argument} of operator #{index} {op.type}{round_}"
    return error.retold(f"{way}: {error.message}", operator_index=index)


def saved_name(blob: BlobVersion) -> str:
    """The name under which the workspace of a Do keeps a version that its net overwrites."""
    return f"{blob.name}/_DO_OPERATOR_FWD_VERSION_{blob.version}_"


def scopes_of(op: Operator) -> list[str]:
    """The scope blobs around `op` on whose stacks it leaves workspaces, or from which it takes them, its own one last.

    What the net of a While's condition puts on a stack the While takes off again: nothing else will.
    """
    return list(_effects_around(op).scopes) if op.type in NETS else []


def scopes_in(operators: Iterable[Operator]) -> list[str]:
    """The same of several operators."""
    return list(_effects(operators).scopes)


def outside(op: Operator, names: Container[str]) -> list[str]:
    """The blobs around `op` that `names` in its nets stand for; what is local to the net of a Do has none."""
    if op.type == "Do":
        return [outer for inner, outer in bindings(op) if inner in names]
    return [name for name in dict.fromkeys([*op.inputs, *op.outputs]) if name in names]


def takes_workspaces(op: Operator) -> bool:
    """Whether `op` is part of a backward pass that takes workspaces off their stacks."""
    return any(one.type == "Do" and "saved_fwd_blobs" in one.args for one in (op, *operators_in(op)))


def _is_list_of(value: Any, kind: type) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple) and all(type(element) is kind for element in value)
