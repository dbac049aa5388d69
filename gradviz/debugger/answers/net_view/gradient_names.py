"""Names of gradients in a question: which blob one is, or would be, the gradient of, who writes it, and when."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from ...document import Line
from ...steering import CursorError
from .finding import find
from .flow import Flow, Sent, flow_of
from .net_view import NetView
from .recorded import Recorded
from .wording import name_of

_OF_GRADIENT = re.compile(r"(?P<blob>.+?)(_grad|\.grad)(@\d+)?")

_HELD = {
    "held": "is what {} held in grad before the pass",
    "dropped": "is what {} held in grad before the pass",
    "new": "is what {} holds in grad after the pass",
    "added": "is what {} holds in grad after the pass: what was there before, and the gradient of this pass",
    "replaced": "is what {} holds in grad after the pass, in place of what was there before",
}


class Meant(NamedTuple):
    """What a word in a question means.

    Attributes:
        view: where it was found.
        blob: the blob asked about, a name or a version; of a gradient the blob whose gradient it is.
        said: what the word itself stands for, if it is the name of a gradient or could be one; else empty.
    """

    view: NetView
    blob: str
    said: str


def meant(recorded: Recorded, subnet: str | None, frame: int | None, word: str) -> Meant:
    """What `word` means, as in `find`; raises CursorError ``not_found``."""
    try:
        view, blob = find(recorded, subnet, frame, word)
    except CursorError:
        match = _OF_GRADIENT.fullmatch(word) if isinstance(word, str) else None
        if match is not None:
            with suppress(CursorError):
                view, blob = find(recorded, subnet, frame, match["blob"])
                return Meant(view, blob, _of_none(view, blob, word))
        raise
    versions = [f"{blob}@{version}" for version in view.versions[blob]] if blob in view.versions else [blob]
    if any(_is_forward(view, one) for one in versions):
        return Meant(view, blob, "")
    return _of_gradient(view, versions) or _of_grad(view, versions[-1]) or _on_the_way(view, versions[-1])


def _is_forward(view: NetView, blob: str) -> bool:
    """Whether a version belongs to the forward program."""
    lines = [*view.readers.get(blob, ()), *([view.writers[blob]] if blob in view.writers else [])]
    return any(line.role == "forward" for line in lines)


def _of_none(view: NetView, blob: str, word: str) -> str:
    """That nobody writes a blob of this name, which would be the gradient of `blob`."""
    flow = flow_of(view)
    version = flow.meant(blob)
    gradient = flow.gradient(version)
    if gradient is None:
        return f"There is no {word}: it would be the gradient of {view.named(version)}."
    *indices, values = gradient.parts
    rows = f" in the rows {indices[0]}" if indices else ""
    return f"There is no {word}: the gradient of {view.named(version)} is {values}{rows}."


def _of_gradient(view: NetView, versions: list[str]) -> Meant | None:
    """A gradient that the pass has brought: the last of several, of the blob that it was made for."""
    flow = flow_of(view)
    found = [
        (versions.index(part), sent.how != "passed", _is_whole(flow, part, blob), sent.at, part, blob, sent)
        for brought in (flow.sums, flow.sent)
        for blob, several in brought.items()
        for sent in several
        for part in sent.parts
        if part in versions
    ]
    if not found:
        return None
    *_, part, blob, sent = max(found, key=lambda one: one[:4])
    said = f"{view.named(part)} {_place(flow, part, blob, sent)} {view.named(blob)}"
    return Meant(view, blob, f"{said}{_written(view, view.writers.get(part), sent)}")


def _is_whole(flow: Flow, part: str, blob: str) -> bool:
    """Whether it belongs to what the gradient of a blob is in the end."""
    last = flow.gradient(blob)
    return last is not None and part in last.parts


def _place(flow: Flow, part: str, blob: str, sent: Sent) -> str:
    whole = "the gradient of" if _is_whole(flow, part, blob) else "one of the terms in the gradient of"
    if len(sent.parts) == 1:
        return f"is {whole}"
    return f"holds the {'indices' if part == sent.parts[0] else 'values'} of the rows in {whole}"


def _written(view: NetView, line: Line | None, sent: Sent) -> str:
    """Who writes a gradient, and when."""
    if line is None:
        return ", and was given." if sent.how == "given" else "; no operator writes it."
    made = f". {name_of(line)}, made with event {line.made}"
    if view.path:
        return f"{made}, writes it."
    return f"{made} and {'not run' if line.ran is None else f'run with event {line.ran}'}, writes it."


def _of_grad(view: NetView, blob: str) -> Meant | None:
    """What a Variable holds in ``grad``."""
    schedule = view.recorded.trace.schedule
    grads = [] if schedule is None else [one for one in schedule.grads if one.value == blob]
    if not grads:
        return None
    x = grads[-1].variable
    return Meant(view, x, f"{blob} {_HELD[grads[-1].how].format(x)}.")


def _on_the_way(view: NetView, blob: str) -> Meant:
    """What the backward pass makes for its own use."""
    line = view.writers.get(blob)
    if line is None:
        return Meant(view, blob, "")
    return Meant(
        view, blob, f"{view.named(blob)} is the gradient of no blob: {name_of(line)} makes it for the backward pass."
    )
