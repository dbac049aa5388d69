"""Programs in which nothing is overwritten: every version of a blob under a name of its own."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from .control_flow import NETS, kept_inputs, renamed, surely_written
from .operator import Operator, numbered_name
from .ssa import BlobVersion, Ssa, number


def without_overwriting(operators: Sequence[Operator]) -> list[Operator]:
    """The same program with a name of its own for every version, so that nothing is overwritten.

    What the program reads from outside keeps its name; of a blob made inside, the last version keeps it. The others
    are called ``<name>_<version>``, or the next free number.

    A control operator that works on a blob in place, or may leave it as it is, gets a copy under the new name, and
    works on that. The stack in a scope is one blob from CreateScope on, whoever puts workspaces on it.
    """
    numbered = number(operators)
    name_of = _naming(numbered)
    latest: dict[str, BlobVersion] = {}
    made = []
    for ssa in numbered:
        latest.update((blob.name, blob) for blob in ssa.reads)
        made += _renamed(ssa, latest, name_of)
        latest.update((blob.name, blob) for blob in ssa.writes)
    return made


def _renamed(
    ssa: Ssa[BlobVersion], latest: Mapping[str, BlobVersion], name_of: Callable[[BlobVersion], str]
) -> list[Operator]:
    """One operator of the new program, after the copies that it needs; `latest` versions are those before it."""
    op = ssa.op
    if op.type not in NETS:
        inputs, outputs = list(map(name_of, ssa.reads)), list(map(name_of, ssa.writes))
        return [msgspec.structs.replace(op, inputs=inputs, outputs=outputs)]
    reads = {blob.name: name_of(blob) for blob in ssa.reads}
    writes = {blob.name: name_of(blob) for blob in ssa.writes}
    kept = [name for name in kept_inputs(op) if name in latest]
    worked_on = {name: writes[name] for name in op.outputs if name in op.inputs or name in kept}
    copies = [
        Operator("Copy", [name_of(latest[name])], [copy])
        for name, copy in worked_on.items()
        if name_of(latest[name]) != copy
    ]
    return [*copies, renamed(op, reads | worked_on, writes)]


def _naming(numbered: Sequence[Ssa[BlobVersion]]) -> Callable[[BlobVersion], str]:
    """The new name of each version."""
    stacks = _stacks(numbered)
    kept: dict[str, BlobVersion] = {}
    inside: set[str] = set()
    for ssa in numbered:
        for blob in ssa.reads:
            kept.setdefault(blob.name, blob)
        sure = surely_written(ssa.op)
        for blob in ssa.writes:
            if blob.version == 0 and blob.name in sure:
                inside.add(blob.name)
            if blob.name in inside or blob.name not in kept:
                kept[blob.name] = blob
    taken = set(kept)
    names = {stacks.get(blob, blob): blob.name for blob in kept.values()}

    def name_of(blob: BlobVersion) -> str:
        blob = stacks.get(blob, blob)
        if blob not in names:
            names[blob] = numbered_name(blob.name, taken.__contains__, blob.version)
            taken.add(names[blob])
        return names[blob]

    return name_of


def _stacks(numbered: Sequence[Ssa[BlobVersion]]) -> dict[BlobVersion, BlobVersion]:
    """Each version of a scope, with the one that CreateScope made of it."""
    made: dict[BlobVersion, BlobVersion] = {}
    for ssa in numbered:
        before = {blob.name: made[blob] for blob in ssa.reads if blob in made}
        for blob in ssa.writes:
            if ssa.op.type == "CreateScope":
                made[blob] = blob
            elif blob.name in before:
                made[blob] = before[blob.name]
    return made
