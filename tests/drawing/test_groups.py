"""Groups of a large net: by scope, by repeated block, and of a size that one can look at."""

import random
from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from gradviz.debugger.document import Trace
from gradviz.drawing.flows import programs
from gradviz.drawing.nesting import GROUPED, MOST_CHILDREN, MOST_SCOPES, Group, groups, ways
from tests.drawing.examples import Operator, chain, residual, trace


def found(document: Trace) -> tuple[Group, ...]:
    return groups(programs(document)[""])


def named(document: Trace, names: Sequence[str]) -> Trace:
    lines = zip(document.forward, names, strict=True)
    return replace(document, forward=[replace(line, name=name) for line, name in lines])


def tangle(length: int) -> list[Operator]:
    """Types in no order."""
    numbers = random.Random(length)
    return [(numbers.choice(["FC", "Relu", "Tanh", "Sin"]), [f"x{i}"], [f"x{i + 1}"]) for i in range(length)]


def every(outermost: Sequence[Group]) -> Iterator[Group]:
    for group in outermost:
        yield from group.nested()


def children(group: Group) -> int:
    """How many operators and groups it shows."""
    return group.last - group.first + 1 - sum(inner.last - inner.first for inner in group.inside)


def test_a_net_that_can_be_drawn_whole_has_none():
    assert found(trace(chain(GROUPED))) == ()
    assert found(trace(chain(GROUPED + 1))) != ()


@pytest.mark.parametrize(
    "operators", [chain(1000), residual(250), tangle(1000), chain(151), tangle(4000), residual(2500)]
)
def test_no_level_shows_more_than_one_can_look_at(operators: Sequence[Operator]):
    outermost = found(trace(operators))
    whole = Group("", "", 0, len(operators) - 1, outermost)
    assert all(1 < children(group) <= MOST_CHILDREN for group in every([whole]))


@pytest.mark.parametrize("operators", [chain(1000), residual(250), tangle(1000)])
def test_groups_lie_in_each_other_or_apart_and_are_numbered_from_the_outside(operators: Sequence[Operator]):
    outermost = found(trace(operators))
    ids = [group.id for group in every(outermost)]
    assert ids == [f"g{number}" for number in range(len(ids))]
    for around in every([Group("", "", 0, len(operators) - 1, outermost)]):
        edges = [around.first - 1, *(edge for inner in around.inside for edge in (inner.first, inner.last))]
        assert edges[1:] == sorted(edges[1:])
        assert all(around.first <= edge <= around.last for edge in edges[1:])


def test_a_block_that_repeats_is_named_and_counted():
    titles = {group.title for group in found(trace(chain(1000)))}
    assert titles == {"FC, Relu × 16", "FC, Relu × 4"}


def test_pieces_of_a_repeat_are_cut_between_its_blocks():
    outermost = found(trace(residual(300)))
    assert {group.title for group in outermost} == {"Conv, Relu, Sum × 20"}
    assert all(inner.first % 4 == 0 and inner.last % 4 == 3 for group in outermost for inner in group.inside)


def test_what_does_not_repeat_stands_before_and_behind_what_does():
    operators = [("Data", ["q"], ["x0"]), *chain(500), ("Loss", ["x500"], ["loss"])]
    outermost = found(trace(operators))
    assert outermost[0].first == 1
    assert outermost[-1].last == 500


def test_scopes_of_the_names_make_groups_in_groups():
    document = trace(chain(400))
    outermost = found(named(document, [f"stage{i // 100}/layer{i // 20}/op{i}" for i in range(400)]))
    assert [group.title for group in outermost] == ["stage0", "stage1", "stage2", "stage3"]
    assert [inner.title for inner in outermost[1].inside] == [f"layer{number}" for number in range(5, 10)]
    assert (outermost[1].inside[0].first, outermost[1].inside[0].last) == (100, 119)


def test_a_scope_around_everything_is_no_group():
    document = trace(chain(400))
    outermost = found(named(document, [f"net/part{i // 40}/op{i}" for i in range(400)]))
    assert [group.title for group in outermost] == [f"part{number}" for number in range(10)]


def test_many_scopes_are_grouped_from_the_first_to_the_last():
    document = trace(chain(3000))
    outermost = found(named(document, [f"layer{i // 40}/op{i}" for i in range(3000)]))
    assert outermost[0].title == "layer0 … layer8"
    assert outermost[0].inside[0].title == "layer0"


def test_a_scope_that_comes_again_is_another_group():
    document = trace(chain(300))
    outermost = found(named(document, [f"{'ab'[i // 50 % 2]}/op{i}" for i in range(300)]))
    assert [group.title for group in outermost] == ["a", "b"] * 3


@pytest.mark.parametrize("name", ["/" * 5000, "a/" * 5000 + "x", "//", "\x00/\ud800/x"])
def test_wild_names_end_in_few_levels(name: str):
    document = trace(chain(200))
    outermost = found(named(document, [name] * 200))

    def depth(group: Group) -> int:
        return 1 + max(map(depth, group.inside), default=0)

    assert max(map(depth, outermost)) <= MOST_SCOPES + 2
    assert all(len(group.title) <= 34 and group.title.isprintable() for group in every(outermost))


def test_the_groups_around_an_operator_go_from_the_outside_inwards():
    outermost = found(trace(residual(300)))
    by_id = {group.id: group for group in every(outermost)}
    way = [by_id[id] for id in ways(outermost)[85]]
    assert [(group.first, group.last) for group in way] == [(80, 159), (84, 87)]
    assert None not in ways(outermost)
