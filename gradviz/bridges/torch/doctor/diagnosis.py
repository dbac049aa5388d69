"""What a diagnosis says: findings, the most harmful first, each with its evidence and the ways out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import msgspec

from ....debugger import Cursor
from ....debugger.answers import Answer, Block, Bullets, Paragraph
from ....program import GradvizError
from ....program.code_line import CodeLine
from ....program.events import Event, Failed, Played, RuleApplied


class Place(NamedTuple):
    """Where a recorded pass shows something: operator `operator`, as it is called, or its backward."""

    operator: int
    is_backward: bool = True


class Finding(msgspec.Struct, frozen=True):
    """Something that is wrong, or worth a remark.

    Attributes:
        kind: a word for the fault: ``unused``, ``detached``, ``overwritten``, ``nan`` and so on; it does not change.
        sentence: what is wrong and where.
        names: the parameters and tensors that it is about, the first the one that matters most.
        line: of the user's code; None: it is not known.
        harm: whether something does not work; False: a remark.
        evidence: sentences that bear it out.
        ways_out: sentences, each one way to repair it.
        place: where the recorded pass shows it; None: nowhere.
        positions: of the session, at which it is shown.
    """

    kind: str
    sentence: str
    names: tuple[str, ...] = ()
    line: CodeLine | None = None
    harm: bool = True
    evidence: tuple[str, ...] = ()
    ways_out: tuple[str, ...] = ()
    place: Place | None = None
    positions: tuple[int, ...] = ()

    def text(self) -> Iterator[str]:
        """Its lines but the first sentence."""
        if self.line is not None and self.line.text:
            yield f"{self.line}: {self.line.text}"
        yield from self.evidence
        for position in self.positions:
            yield f"Event {position} of the recorded pass shows it: `diagnosis.session.run_to({position})`."
        yield from (f"Way out: {way}" for way in self.ways_out)


class Diagnosis(Answer, frozen=True, dict=True):
    """What is wrong with a backward pass.

    Attributes:
        findings: the most harmful first; remarks last.
        summary: a sentence for when nothing harmful was found: what was looked at.
    """

    answer = "diagnosis"
    findings: list[Finding]
    summary: str

    @classmethod
    def of(cls, findings: Iterable[Finding], summary: str, record: Callable[[], Cursor] | None = None) -> Diagnosis:
        """A diagnosis, and what records the pass that it is about: at once where that shows what is harmful.

        What is found several times in the same words, as in a loop, is one finding.
        """
        ordered = sorted({one.sentence: one for one in findings}.values(), key=lambda one: not one.harm)
        session = None
        if record is not None and any(one.harm and one.place is not None for one in ordered):
            with suppress(GradvizError):
                session = record()
        if session is not None:
            ordered = [msgspec.structs.replace(one, positions=_positions(one, session.events)) for one in ordered]
            if positions := [position for one in ordered for position in one.positions]:
                session.run_to(positions[0])
        diagnosis = cls(ordered, summary)
        diagnosis.__dict__.update({"_record": record} if session is None else {"session": session})
        return diagnosis

    @cached_property
    def session(self) -> Cursor | None:
        """The recorded backward pass, at the event that shows the first finding; None: there can be none."""
        record = self.__dict__.get("_record")
        return None if record is None else record()

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is harmful."""
        return not any(one.harm for one in self.findings)

    def _repr_html_(self) -> str:
        return re.sub(r"`([^`]+)`", r"<code>\1</code>", super()._repr_html_())

    def blocks(self) -> Iterator[Block]:
        if self.is_healthy:
            yield Paragraph(self.summary, is_title=True)
        for one in self.findings:
            yield Paragraph(one.sentence if one.harm else f"Remark: {one.sentence}", is_title=one.harm)
            if text := list(one.text()):
                yield Bullets(text)


def _positions(finding: Finding, events: Sequence[Event]) -> tuple[int, ...]:
    """The position of the event that shows a finding."""
    if finding.place is None:
        return ()
    kinds = (RuleApplied, Failed) if finding.place.is_backward else (Played,)
    shown = (at for at, one in enumerate(events, 1) if isinstance(one, kinds) and one.index == finding.place.operator)
    return tuple(shown)[:1]
