"""gradviz.compare: three ways to differentiate one program, side by side."""

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from gradviz import Function, GradientError, Parameter, Variable, compare, functions
from gradviz.comparison import LiveBytes
from tests.eager.differences import Array, floats


class Cells(HTMLParser):
    """The text of the cells of a table, and the tags that there are."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def chain(x: Variable) -> Variable:
    """Ten times tanh."""
    for _ in range(10):
        x = functions.tanh(x)
    return x


def test_the_ways_give_the_same_gradients_of_inputs_and_parameters() -> None:
    w, table = Parameter(floats(3, 4), name="w"), Parameter(floats(5, 4, seed=1), name="table")
    w.grad = np.ones((3, 4))

    def program(x: Variable, labels: Variable) -> Variable:
        rows = functions.embed_id([[0, 3], [3, 1]], table).sum(axis=1) + functions.embed_id([1, 2], table)
        h = functions.dropout(functions.tanh(x @ w), 0.5) + rows
        return functions.softmax_cross_entropy(h, labels)

    x = Variable(floats(2, 3, seed=2), name="x")
    found = compare(program, x, np.array([1, 0]))
    assert found.agree
    assert found.differences == ()
    assert list(found.ways) == ["symbolic", "rank", "tape"]
    for way in found.ways.values():
        assert way.gradients.keys() == {"x", "w", "table"}
        assert min(way.seconds, way.first_seconds, way.peak_bytes) > 0
    np.testing.assert_array_equal(w.grad, np.ones((3, 4)))
    assert x.grad is table.grad is None


def test_the_gradients_are_those_of_backward() -> None:
    x = Variable(floats(4))
    found = compare(lambda v: functions.exp(v) * v, x, gradient=np.arange(4.0))
    y = functions.exp(x) * x
    y.backward(gradient=np.arange(4.0))
    for way in found.ways.values():
        np.testing.assert_allclose(way.gradients["x"], x.grad, rtol=1e-14)


def test_the_orders_are_those_of_the_schedules() -> None:
    def program(x: Variable) -> Variable:
        long = functions.exp(functions.sin(x))
        return long * functions.tanh(x)

    found = compare(program, 0.5)
    assert found["rank"].order == ("#3 Mul", "#1 Exp", "#2 Tanh", "#0 Sin")
    assert found["tape"].order == found["symbolic"].order == ("#3 Mul", "#2 Tanh", "#1 Exp", "#0 Sin")


def test_memory_is_that_of_the_gradients_that_are_there_at_once() -> None:
    found = compare(chain, np.ones(1000))
    one = 8000
    assert found["symbolic"].peak_bytes >= 10 * one
    for schedule in ("rank", "tape"):
        assert 2 * one <= found[schedule].peak_bytes < 6 * one


def test_live_bytes_are_counted_as_they_come_and_go() -> None:
    def ones(size: int) -> Array:
        return np.ones(size)

    def start(array: Array, size: int) -> Array:
        return array[:size]

    known = np.ones(50)
    with LiveBytes([known]) as live:
        a = ones(100)
        assert live.now == 800
        b = ones(100)[:10]
        assert live.now == 1600
        del a
        assert live.now == 800
        assert start(known, 3).size + start(b, 2).size == 5
        assert live.now == 800
        del b
    assert (live.now, live.peak) == (0, 1600)


def test_what_differs_is_told() -> None:
    calls = iter(range(1, 1000))

    def changing(x: Variable) -> Variable:
        return x * float(next(calls))

    found = compare(changing, np.array([1.0]))
    assert not found.agree
    (first, _) = found.differences
    assert (first.leaf, first.one, first.other) == ("x", "symbolic", "rank")
    assert first.largest > 0
    assert "The gradient of x differs by" in str(found)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_alike_and_not_finite_is_no_part_of_a_difference() -> None:
    calls = iter(range(1, 1000))

    def changing(x: Variable) -> Variable:
        return x * np.array([np.nan, np.inf, -np.inf, float(next(calls))])

    found = compare(changing, np.ones(4))
    of_ways = [found[way].gradients["x"][-1] for way in ("symbolic", "rank", "tape")]
    assert [one.largest for one in found.differences] == [abs(of_ways[0] - one) for one in of_ways[1:]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_inputs_of_several_dtypes_give_the_same_gradients_up_to_the_coarsest(dtype: Any) -> None:
    x, w = np.linspace(-1, 1, 5).astype(dtype), np.linspace(0.1, 2, 5)
    compared = compare(lambda x, w: functions.sum(functions.tanh(x) * w + x * w * w), x, w)
    assert compared.agree, compared.verdict
    assert {one.dtype.type for one in compared["rank"].gradients.values() if one is not None} == {dtype, np.float64}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_differs_by_a_quarter_is_told_in_any_precision(dtype: Any) -> None:
    calls = iter(np.arange(1, 100) / 4)
    found = compare(lambda x: x * next(calls).astype(dtype), np.ones(1, dtype))
    assert len(found.differences) == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_rounding_leaves_of_gradients_that_cancel_is_no_difference(dtype: Any) -> None:
    compared = compare(lambda x: functions.sum(x * -0.3 + x * 0.1 + x * 0.2), np.ones(3, dtype))
    assert not np.array_equal(*[compared[way].gradients["x"] for way in ("symbolic", "rank")])
    assert compared.agree, compared.verdict


def test_text_and_html_say_the_same_side_by_side() -> None:
    strange = type("<b>", (Function,), {"forward": lambda _, xs: xs[0] * 2, "backward": lambda _, xs, gys: gys[0] * 2})
    found = compare(lambda x: strange()(x).sum(), Variable([1.0, 2.0], name="a.b"))
    text, html = str(found), Cells(found._repr_html_())
    assert repr(found) == text
    assert text.startswith("All 3 ways give the same gradients.")
    for words in ("symbolic", "rank", "tape", "norm of the gradient of a.b", "#0 <b>", "2.828"):
        assert words in text
        assert words in html.cells
    assert html.tags == {"p", "b", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_plain_data_has_the_numbers_of_the_gradients() -> None:
    data = json.loads(json.dumps(compare(lambda x: (x * 1e200).sum(), Variable([1.0, 2.0], name="a")).to_dict()))
    assert data["answer"] == "compare"
    assert data["ways"]["tape"]["gradients"]["a"]["norm"] == pytest.approx(2**0.5 * 1e200)
    assert data["differences"] == []


def test_long_orders_are_cut() -> None:
    text = str(compare(lambda x: sum((functions.sin(x) for _ in range(100)), x), 1.0))
    assert "and 140 more" in text


def test_random_numbers_are_the_same_in_every_run_and_go_on_as_if_nothing_were() -> None:
    np.random.seed(3)
    expected = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    assert compare(lambda x: (x * np.random.normal(size=3)).sum(), np.ones(3)).agree
    assert np.random.get_state()[1].tolist() == expected  # type: ignore[index, union-attr]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda x: 3.0, "is float"),
        (lambda x: x, "requires no gradient"),
        (lambda x: Variable(1.0, requires_grad=False), "requires no gradient"),
    ],
)
def test_what_is_no_function_of_variables_is_refused(program: Any, words: str) -> None:
    with pytest.raises(GradientError, match=words) as caught:
        compare(program, 1.0)
    assert caught.value.kind == "bad_argument"


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(GradientError, match="not ndarray") as caught:
        compare(np.ones(3))  # type: ignore[arg-type]
    assert caught.value.kind == "bad_argument"


def test_a_gradient_that_does_not_fit_is_refused() -> None:
    with pytest.raises(GradientError) as caught:
        compare(chain, np.ones(3), gradient=np.ones(2))
    assert caught.value.kind == "bad_gradient"


def test_an_input_without_a_name_is_not_called_as_another_one_that_is_not_read():
    named, unnamed = Variable(np.ones(3), name="x"), Variable(np.ones(3))
    for way in compare(lambda one, other: functions.sum(one * one), unnamed, named).ways.values():
        assert list(way.gradients) == ["x_1"]


def test_a_function_that_takes_more_than_it_is_given_is_refused() -> None:
    with pytest.raises(GradientError, match=r"with 1 input: missing a required argument: 'y'") as caught:
        compare(lambda x, y: x * y, 1.0)
    assert caught.value.kind == "bad_argument"
    assert caught.value.ways_out
