"""The narration of each event of a recording, by itself.

Of running the program there is an event for each operator and each passage into and out of a net; statements read there
as they do in the end. The iterations of a loop say the same things of other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...program.crossing import COPIES
from ...program.events import EnteredSubnet, Failed, LeftSubnet, Ran
from ...runtime.store import written
from ..document import filled
from ..journal import AT_THE_END, Reading, Recording
from . import narration
from . import sentences as say
from .control_narration import Passage, entered, left
from .sentences import Sentences, joined
from .story import Story
from .values import DocumentValues, values_of

BLOB = re.compile(r"`([^` ]+@\d+)`")
"""A blob version in a sentence."""

ODDITIES = {"NaN": "nan", "Inf": "inf"}
"""What a person looks for in the outputs of an operator, and the field that counts it."""


class Description(NamedTuple):
    """The narration of an event, the words by which a search finds it, and which events are like it.

    Attributes:
        words: beside those of its subject.
        alike: the same for all events whose narrations differ in numbers alone; None: it is like no other.
    """

    narration: Sentences
    words: Sequence[str] = ()
    alike: object = None


class Narrator:
    """Tells the events of a recording, each by itself.

    Args:
        values: the statistics of the recorded values; None: those that are asked for are looked up, or measured.
    """

    def __init__(self, recording: Recording, values: DocumentValues | None = None) -> None:
        self._recording = recording
        self._values = values or values_of(recording)
        self._texts: dict[str, str] = {}

    @cached_property
    def story(self) -> Story:
        """Tells the events of the pass."""
        return Story(self._recording)

    def summary(self) -> str:
        """What the recording is about, before anything has happened."""
        return self._recording.summary + narration.stored(self._recording)

    def narration(self, at: int) -> str:
        """The narration of the event before position `at`, as text."""
        return filled(*joined(self.tell(at).narration))

    def tell(self, at: int) -> Description:
        """The description of the event before position `at`."""
        recording, event = self._recording, self._recording.events[at - 1]
        if recording.text.is_run(event, at):
            run = recording.run_after(at - 1 if type(event) is LeftSubnet else at)
            match event:
                case Ran():
                    return self._ran(event, run)
                case EnteredSubnet() | LeftSubnet() if run is not None:
                    return self._passage(run, is_entered=type(event) is EnteredSubnet)
                case Failed() if recording.obstacle is not None:
                    return Description([(say.NOT_RUN, narration.sentence(recording.obstacle))])
        return Description(self._in_words(self.story.tell(event, at), event.path))

    def _in_words(self, sentences: Sentences, path: tuple[str, ...]) -> Sentences:
        """Sentences in which names that the pass made up are words, where one stands alone."""

        def words(blob: str) -> str:
            return self._recording.text.words_for(blob, path) or blob

        def worded(what: object) -> object:
            text = str(what)
            if "_autosplit_" not in text and "/_DO_" not in text:
                return what
            return BLOB.sub(lambda match: f"`{words(match[1])}`", text) if "`" in text else words(text)

        return [(template, *map(worded, arguments)) for template, *arguments in sentences]

    def _ran(self, event: Ran, run: int | None) -> Description:
        line = self._line(run, event.position)
        outputs = line.statement.outputs
        values = [(str(one), value) for one in outputs if (value := self._values.of(run, one.key)) is not None]
        words = tuple(word for word, count in ODDITIES.items() if any(getattr(value, count) for _, value in values))
        described = [(blob, narration.measured(value)) for blob, value in values]
        copied = self._copied(event, run) if event.op.type in COPIES else None
        if event.seconds is None and line.role == "forward":
            sentences = narration.ran_before(line, described)
        else:
            if line.id not in self._texts:
                self._texts[line.id] = narration.running(line)
            sentences = narration.ran(self._texts[line.id], event.device, event.seconds, described, copied)
        return Description(sentences, words, (line.id, words, event.device, copied is None))

    def _copied(self, event: Ran, run: int | None) -> tuple[str, str] | None:
        """How much an operator copied from another device, and from which; None: it lay there already."""
        value = self._values.of(run, (event.op.inputs[0], event.in_versions[0]))
        if value is None or value.device == event.device:
            return None
        return written(value.size * np.dtype(value.dtype).itemsize), value.device

    def _passage(self, number: int, *, is_entered: bool) -> Description:
        """Going into a run, or out of it."""
        run = self._recording.runs[number]
        passage = Passage(self._recording, run, self._line(run.around, run.operator), self._values)
        sentences = entered(passage) if is_entered else left(passage)
        return Description(sentences, alike=(is_entered, run.net.path, run.is_backward))

    def _line(self, run: int | None, position: int) -> Reading:
        """The operator at a position of the net that runs."""
        return self._recording.operator(run, position).at(AT_THE_END)
