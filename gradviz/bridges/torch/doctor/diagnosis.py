"""What a diagnosis says: findings, the most harmful first, each with its evidence and the ways out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from ....debugger import Cursor
from ....debugger.answers import Answer, Block, Bullets, Paragraph
from ....program.code_line import CodeLine


class Finding(msgspec.Struct, frozen=True):
    """Something that is wrong, or worth a remark.

    Attributes:
        kind: a word for the fault: ``unused``, ``detached``, ``overwritten``, ``nan`` and so on; it does not change.
        sentence: what is wrong and where.
        names: the parameters and tensors that it is about, the first the one that matters most.
        line: of the user's code; None: it is not known.
        harm: whether something does not work; False: a remark.
        evidence: sentences that say how that is known.
        ways_out: sentences, each one way to repair it.
    """

    kind: str
    sentence: str
    names: tuple[str, ...] = ()
    line: CodeLine | None = None
    harm: bool = True
    evidence: tuple[str, ...] = ()
    ways_out: tuple[str, ...] = ()

    def text(self) -> Iterator[str]:
        """Its lines but the first sentence."""
        if self.line is not None and self.line.text:
            yield f"{self.line}: {self.line.text}"
        yield from self.evidence
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
        """A diagnosis, and what records the pass that it is about."""
        ordered = sorted(findings, key=lambda one: not one.harm)
        found = cls(ordered, summary)
        found.__dict__["_record"] = record
        return found

    @property
    def session(self) -> Cursor | None:
        """The recorded backward pass, made when it is first asked for; None: there can be none."""
        if "_session" not in self.__dict__:
            record = self.__dict__.get("_record")
            self.__dict__["_session"] = None if record is None else record()
        return self.__dict__["_session"]  # type: ignore[no-any-return]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is harmful."""
        return not any(one.harm for one in self.findings)

    def blocks(self) -> Iterator[Block]:
        if self.is_healthy:
            yield Paragraph(self.summary, is_title=True)
        for one in self.findings:
            yield Paragraph(one.sentence if one.harm else f"Remark: {one.sentence}", is_title=one.harm)
            if text := list(one.text()):
                yield Bullets(text)
