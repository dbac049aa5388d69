"""Answers as a person meets them first, for comparing their text with what was agreed on."""

from gradviz import debug
from tests.debugger.answers.nets import dead, diamond, overwritten
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated


def at_the_sum():
    session = debug(skip_net(), ["loss"], workspace=fed_workspace())
    session.run_to("Accumulated")
    return session


def stopped():
    session = overwritten()
    session.finish()
    return session


def endless():
    """A loop that is fed an infinity."""
    return debug(gated(), ["loss"], workspace=fed(2, u=[[float("inf")], [1.0]]))


TYPICAL = {
    "ledger": lambda: at_the_sum().ledger("a"),
    "paths": lambda: diamond().paths("x"),
    "why_none": lambda: at_the_sum().why_none("label"),
    "why_none_of_a_gradient": lambda: at_the_sum().why_none("x_grad"),
    "why_none_of_no_gradient": lambda: at_the_sum().why_none("label_grad"),
    "why_none_stopped": lambda: stopped().why_none("x"),
    "provenance": lambda: dead().provenance("w_grad"),
    "provenance_in_a_loop": lambda: endless().provenance("loss"),
    "versions": lambda: stopped().versions("y"),
    "check": lambda: diamond().check("#1"),
    "diff": lambda: diamond().diff(0, 12),
    "state": lambda: at_the_sum().state(),
}
