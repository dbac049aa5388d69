"""Numbers at the ends of their dtypes, and dtypes that are not real: answers are right or say that there is none."""

import math
import warnings

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import gradviz
from gradviz.debugger.document import Contribution
from gradviz.debugger.statistics import compare, furthest, norm, statistics, vector
from gradviz.debugger.telling.sums import ledger

GREATEST, LEAST = np.finfo(np.float64).max, 5e-324

NUMBERS = {
    "large": np.full((2, 3), 1e308),
    "larger than its squares": np.full((2, 3), 1e200),
    "small": np.full((2, 3), 1e-200),
    "subnormal": np.full((2, 3), 1e-320),
    "infinite": np.array([np.inf, -np.inf, 1.0]),
    "NaN": np.array([np.nan, 1.0, 0.0]),
    "empty": np.zeros((0, 3)),
    "one number": np.array(3.0),
    "zeros": np.zeros(4),
    "bool": np.array([True, False, True]),
    "int8": np.array([-128, 127, 1], np.int8),
    "float16": np.full(100, 6e4, np.float16),
    "float32": np.full(100, 3e38, np.float32),
    "complex128": np.array([3 + 4j, -1j, 2.0]),
    "complex64": np.full(100, 3e38 + 3e38j, np.complex64),
    "complex NaN": np.array([complex(np.nan, 1), complex(np.inf, -np.inf), 1]),
    "large complex": np.full(3, 1e308 * (1 + 1j)),
}


def meeting() -> gradviz.Net:
    """x is read by four operators; the last product of it is linear in each of its inputs."""
    net = gradviz.Net("meeting")
    net.Mul(["x", "w"], "a")
    net.Sum(["a", "x", "x"], "b")
    net.Mul(["b", "x"], "y")
    return net


def recorded(array: np.ndarray) -> gradviz.Session:
    ws = gradviz.Workspace()
    ws.feed("x", array)
    ws.feed("w", np.ones_like(array))
    session = gradviz.debug(meeting(), ["y"], workspace=ws)
    session.finish()
    return session


@pytest.mark.parametrize("array", NUMBERS.values(), ids=NUMBERS)
def test_no_answer_warns(array: np.ndarray, tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = recorded(array)
        answers = [
            session.ledger("x"),
            session.paths("x"),
            session.paths("y", "x", k=2),
            session.why_none("x"),
            *(session.provenance(blob, what) for blob in ("y", "x_grad") for what in (None, "explosion")),
            session.provenance("x_grad", factor=1.0001),
            *(session.check(asked) for asked in ("#0", "#1", "#2", "x", "w")),
            session.versions("x"),
            session.numbers("x_grad"),
            session.diff(0, len(session)),
            session.state(),
        ]
        for answer in answers:
            assert str(answer)
            assert answer._repr_html_()
            assert answer.to_dict()
        for condition in ("norm > 100", "x.max > 1e308 * 10", "abs(mean) < 1e-320", "NaN", "Inf", "norm / 0 > 1"):
            session.break_on(condition)
        session.watch("x_grad"), session.watch("x_grad.norm * x.norm")
        session.restart()
        session.continue_()
        session.finish()
        assert str(session.watches)
        assert session.watches._repr_html_()
        session.to_html(tmp_path / "it.html")
        session.save(tmp_path / "it.gradviz.json")
        gradviz.load(tmp_path / "it.gradviz.json")


FLOATS = {what: array for what, array in NUMBERS.items() if array.dtype.kind == "f"}
"""What a Variable can require a gradient of."""


@pytest.mark.parametrize("schedule", ["rank", "tape"])
@pytest.mark.parametrize("array", FLOATS.values(), ids=FLOATS)
def test_no_answer_about_code_warns(array: np.ndarray, schedule: str) -> None:
    x = gradviz.Variable(array, name="x")
    with np.errstate(all="ignore"):
        y = x * x + x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = gradviz.debug(y, gradient=np.ones_like(array), schedule=schedule)
        session.finish()
        for answer in (session.ledger("x"), session.paths("x"), session.check("x"), session.state()):
            assert str(answer)
            assert answer._repr_html_()


def test_a_notebook_has_complex_numbers_that_are_not_finite(tmp_path) -> None:
    recorded(NUMBERS["complex NaN"]).to_notebook(tmp_path / "it.ipynb")
    NotebookClient(nbformat.read(tmp_path / "it.ipynb", as_version=4)).execute()


def of(*arrays: np.ndarray) -> gradviz.debugger.document.Ledger:
    said = [Contribution(gradient=f"g@{at}", producer=f"Op #{at}", of=at, how="generated") for at in range(len(arrays))]
    terms = list(zip(said, arrays, strict=True))
    with np.errstate(all="ignore"):
        return ledger("x@0", 1, "x_grad@0", terms, sum(arrays))


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e-318, 1e200, 1e307])
def test_a_ledger_does_not_depend_on_the_scale(scale: float) -> None:
    first, second = of(np.array([3.0, 0.0]) * scale, np.array([0.0, -4.0]) * scale).contributions
    assert first.norm == pytest.approx(3 * scale, rel=1e-4)
    assert second.norm == pytest.approx(4 * scale, rel=1e-4)
    assert first.share == pytest.approx(9 / 25, rel=1e-4)
    assert second.share == pytest.approx(16 / 25, rel=1e-4)
    assert first.cosine == pytest.approx(3 / 5, rel=1e-4)
    assert second.cosine == pytest.approx(4 / 5, rel=1e-4)
    whole = of(np.array([3.0, 0.0]) * scale, np.array([0.0, -4.0]) * scale)
    assert whole.norm == pytest.approx(5 * scale, rel=1e-4)
    assert whole.cancellation == pytest.approx(1 - 5 / 7, rel=1e-4)


def test_complex_contributions_count_by_both_parts() -> None:
    found = of(np.array([3 + 4j]), np.array([-3 + 4j]))
    assert [one.norm for one in found.contributions] == [5.0, 5.0]
    assert [one.share for one in found.contributions] == [0.5, 0.5]
    assert [one.cosine for one in found.contributions] == [pytest.approx(0.8), pytest.approx(0.8)]
    assert (found.norm, found.cancellation) == (8.0, pytest.approx(0.2))


def test_a_contribution_of_another_scale_than_the_sum_has_its_share() -> None:
    found = of(np.array([1e-300]), np.array([1e300]))
    assert [one.share for one in found.contributions] == [0.0, 1.0]
    assert [one.cosine for one in found.contributions] == [1.0, 1.0]


def test_contributions_that_annihilate_each_other_have_no_share() -> None:
    found = of(np.array([GREATEST, 1e308]), np.array([-GREATEST, -1e308]))
    assert [(one.share, one.cosine) for one in found.contributions] == [(None, None)] * 2
    assert (found.norm, found.cancellation) == (0.0, 1.0)


def test_a_cancellation_is_known_where_the_norms_are_beyond_float64() -> None:
    parts = [np.full(9, GREATEST), np.full(9, -GREATEST / 2)]
    assert norm(vector(parts[0])) == math.inf
    assert compare(parts, vector(np.full(9, GREATEST / 2))).cancellation == pytest.approx(2 / 3)


def test_of_a_sum_that_is_beyond_its_dtype_there_is_no_cancellation() -> None:
    parts = [np.full(2, 6e4, np.float16), np.full(2, 3e4, np.float16)]
    with np.errstate(over="ignore"):
        assert math.isnan(compare(parts, vector(parts[0] + parts[1])).cancellation)


@pytest.mark.parametrize("array", [np.array([np.nan, 1.0]), np.array([np.inf, np.nan])], ids=["NaN", "with infinity"])
def test_a_NaN_stays_one(array: np.ndarray) -> None:
    assert math.isnan(norm(vector(array)))
    assert all(math.isnan(one) for (one,) in compare([array], vector(array))[:3])


def test_differences_are_those_of_wide_numbers() -> None:
    assert furthest(np.array([6e4], np.float16), np.array([-6e4], np.float16)) == pytest.approx(1.2e5, rel=1e-3)
    assert furthest(np.array([True]), np.array([False])) == 1.0
    assert furthest(np.array([3j]), np.array([4 + 0j])) == 5.0
    assert furthest(np.zeros(0), np.zeros(0)) == 0.0


@pytest.mark.parametrize(
    ("array", "mean", "mean_abs", "length"),
    [
        (np.full(100, 1e307), 1e307, 1e307, 1e308),
        (np.array([1e308, 1e308, -1e308]), 1e308 / 3, 1e308, math.sqrt(3) * 1e308),
        (np.full(16, 1e-170), 1e-170, 1e-170, 4e-170),
        (np.full(16, LEAST), LEAST, LEAST, 4 * LEAST),
        (np.full((3, 50_000), 1e305), 1e305, 1e305, math.sqrt(150_000) * 1e305),
        (np.array([1e308, 1e308, np.inf]), 1e308, 1e308, math.inf),
        (np.array([2**62, -(2**62), 0]), 0.0, 2**63 / 3, math.sqrt(2) * 2**62),
        (np.array([3 + 4j, 0]), 2.5, 2.5, 5.0),
        (np.full(2, 2.4e38 + 3.2e38j, np.complex64), 4e38, 4e38, math.sqrt(2) * 4e38),
    ],
)
def test_statistics_neither_overflow_nor_underflow(array, mean, mean_abs, length) -> None:
    found = statistics(array)
    assert found.mean == pytest.approx(mean, rel=1e-6)
    assert found.mean_abs == pytest.approx(mean_abs, rel=1e-6)
    assert (math.inf if found.norm == "inf" else found.norm) == pytest.approx(length, rel=1e-6)


def test_a_histogram_of_subnormal_numbers_counts_them_all() -> None:
    assert sum(statistics(np.arange(200) * LEAST).histogram) == 200
