"""What tests ask of recordings of define-by-run passes."""

from gradviz.program.events import GradWritten


def gradients(session):
    """What every ``grad`` was written to be."""
    return {event.blob: session.value(event.after) for event in session.events if isinstance(event, GradWritten)}
