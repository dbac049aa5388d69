"""Words in the widget: none lies over another, wherever one looks."""

import pytest

from tests.browser.hosts import Host, on_a_page
from tests.browser.programs import (
    Build,
    decayed,
    first_row_of_a_table,
    gated,
    lanes,
    large,
    neuron,
    random_program,
    relu_in_place,
    shrunken,
    skip_connection,
    used_four_times,
    written_into,
)  # fmt: skip
from tests.browser.view import COVERED, ask
from tests.drawing.nested import loop, shared_gradient, three_deep, two_branches

TURNS = ((), ("f",), ("f", "t"), ("End",), ("t",), ("ArrowLeft",) * 6, ("f",))
"""Keys, from the midst of the recording on: the focus, a lesson, and the end, or before it, with and without one."""

PROGRAMS = (
    neuron, skip_connection, gated, lanes, large, relu_in_place, written_into, shrunken, first_row_of_a_table, loop,
    shared_gradient, two_branches, three_deep, decayed, used_four_times,
)  # fmt: skip

REFUSED = {4, 8, 46}
"""Seeds of programs that nothing can be recorded of: they have a StopGradient that stops nothing."""


def expect_no_word_over_another(host: Host, build: Build) -> None:
    view = host.show(build)
    view.run_to("GeneratorAdded")
    for keys in TURNS:
        view.press(*keys)
        assert ask(view.root, COVERED) == [], keys


@on_a_page
@pytest.mark.parametrize("build", PROGRAMS)
def test_no_word_lies_over_another(host: Host, build: Build) -> None:
    expect_no_word_over_another(host, build)


@on_a_page
@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({*range(60)} - REFUSED))
def test_no_word_lies_over_another_in_a_random_program(host: Host, seed: int) -> None:
    expect_no_word_over_another(host, random_program(seed))
