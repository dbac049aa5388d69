"""What a recording tells of running the program: an event for each operator and each passage into and out of a net.

The iterations of a loop say the same things of other numbers, so what they say is put together once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...program.events import EnteredSubnet, Event, Failed, LeftSubnet, Ran
from ..document import Value
from ..journal import AT_THE_END, NetHalves, NetText, ProgramText, Reading, Recording, Statement
from . import narration
from . import sentences as say
from .control_narration import Passage, entered, left
from .sentences import Sentence
from .story import Description
from .values import DocumentValues

ODDITIES = {"NaN": "nan", "Inf": "inf"}
"""What a person looks for in the outputs of an operator, and the field that counts it."""


class Execution:
    """Tells what happened while the program ran; statements read as they do in the end.

    Where it happened is a run of a nested net, a number among the frames, or None for the outermost net.
    """

    def __init__(self, recording: Recording, text: ProgramText, values: DocumentValues) -> None:
        self._recording = recording
        self._text = text
        self._values = values
        self._texts: dict[str, str] = {}

    def net(self, frame: int | None) -> NetText:
        """The text of the net that runs."""
        return self._recording.net_of(frame)

    def tell(self, event: Event, frame: int | None, before: int | None) -> tuple[Description, object] | None:
        """What is said of an event, and what all those share of which the same is said but for numbers.

        None: it is none of running the program.

        Args:
            frame, before: where we are after the event, and were before it.
        """
        match event:
            case Ran():
                return self._ran(event, frame)
            case EnteredSubnet() if frame is not None:
                return self._entered(event, frame)
            case LeftSubnet() if before is not None:
                return self._left(event, before)
            case Failed():
                return self._failed(event, frame if event.path else None), None
        return None

    def _ran(self, event: Ran, frame: int | None) -> tuple[Description, object]:
        net, line = self._place(frame, event.position)
        outputs = line.statement.outputs
        found = [(str(one), value) for one in outputs if (value := self._values.of(frame, net, one.key)) is not None]
        words = oddities([value for _, value in found])
        described = [(blob, narration.shape(value)) for blob, value in found]
        if event.seconds is None and line.role == "forward":
            said = narration.ran_before(line, described)
        else:
            if line.id not in self._texts:
                self._texts[line.id] = narration.running(line)
            said = narration.ran(self._texts[line.id], event.device, event.seconds, described)
        return Description(said, words=words), (line.id, words, event.device)

    def _entered(self, event: EnteredSubnet, frame: int) -> tuple[Description, object]:
        run = self._recording.runs[frame]
        passage = self._passage(frame)
        return Description(entered(passage)), ("entered", run.net.path, run.is_backward)

    def _left(self, event: LeftSubnet, frame: int) -> tuple[Description, object]:
        run = self._recording.runs[frame]
        passage = self._passage(frame)
        return Description(left(passage)), ("left", run.net.path, run.is_backward)

    def _failed(self, event: Failed, frame: int | None) -> Description:
        obstacle = self._recording.obstacle
        why: Sentence = (say.FAILED, event.message) if obstacle is None else (say.NOT_RUN, narration.sentence(obstacle))
        return Description([why])

    def statement(self, frame: int | None, position: int) -> Statement:
        """The operator at a position of the net that runs."""
        return self._recording.operator(frame, position)

    def _place(self, frame: int | None, position: int) -> tuple[NetHalves, Reading]:
        """The net that runs, and the operator at a position of it."""
        net = self._recording.nets if frame is None else self._recording.runs[frame].net
        return net, self.statement(frame, position).at(AT_THE_END)

    def _passage(self, frame: int) -> Passage:
        run = self._recording.runs[frame]
        return Passage(self._recording, run, frame, self._place(run.around, run.operator)[1], self._values)


def oddities(values: Sequence[Value]) -> tuple[str, ...]:
    """What a person looks for in the outputs of an operator."""
    return tuple(word for word, count in ODDITIES.items() if any(getattr(value, count) for value in values))
