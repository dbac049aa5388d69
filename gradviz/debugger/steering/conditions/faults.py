"""What the parser of conditions refuses."""

from collections.abc import Sequence

from ....program import GradvizError

FORM = ('Write a comparison, such as norm > 10, x.nan > 0 or op == "Relu" and n > 1.',)


class ConditionError(GradvizError):
    """A condition that says nothing: its text, and where it stops making sense.

    ``kind`` is ``bad_condition``, or ``not_found`` where it names what the recording does not have.

    Attributes:
        text: the whole condition.
        position: of the first character at fault, counted from 0; at most the length of the text.
        problem: what is wrong, in a sentence.
    """

    def __init__(
        self, text: str, position: int, problem: str, *, kind: str = "bad_condition", ways_out: Sequence[str] = ()
    ) -> None:
        line = "".join(character if character.isprintable() else " " for character in text)
        super().__init__(
            f"{problem[:1].upper()}{problem[1:]}, at character {position + 1}:\n    {line}\n    {' ' * position}^",
            kind=kind,
            ways_out=ways_out or FORM,
        )
        self.text = text
        self.position = position
        self.problem = problem
