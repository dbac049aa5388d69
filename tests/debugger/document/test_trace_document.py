"""Reading and writing the trace document: what goes out comes in again, and every fault says what is wrong."""

import contextlib
import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import gradviz
from gradviz.debugger.document import Trace, TraceError, Value, decode, encode, number
from gradviz.program.errors import GradvizError
from tests.drawing.examples import SKIP_CONNECTION


def recorded() -> Trace:
    net = gradviz.Net("skip connection")
    for type, inputs, outputs in SKIP_CONNECTION:
        net.add(type, inputs, outputs)
    return gradviz.debug(net, ["loss"]).trace()


DOCUMENT = recorded()


def changed(**fields: object) -> str:
    return json.dumps(json.loads(encode(DOCUMENT)) | fields)


def inside(part: str, index: int, **fields: object) -> str:
    """The document with fields of one entry of a list changed."""
    document = json.loads(encode(DOCUMENT))
    document[part][index] |= fields
    return json.dumps(document)


def detail(number: int, /, **fields: object) -> object:
    """The detail of an event with fields of it changed."""
    found: dict[str, object] = json.loads(encode(DOCUMENT))["events"][number]["detail"]
    return found | fields


def value(**fields: object) -> Value:
    plain = {"shape": [2], "dtype": "float32", "device": "cpu", "size": 2, "rows": 1, "columns": 2}
    numbers = {"min": 0.0, "max": 1.0, "mean": 0.5, "mean_abs": 0.5, "norm": 1.0, "preview": [[0.0, 1.0]]}
    counts = {"nan": 0, "inf": 0, "zero": 1}
    return Value(**(plain | numbers | counts | fields))


def test_a_document_comes_back_as_it_went_out():
    document = replace(DOCUMENT, values={"x@0": value(), "y@0": value(min="nan", preview=[["inf", "-inf"]])})
    assert decode(encode(document)) == document
    assert decode(encode(document).decode()) == document


def test_numbers_that_json_lacks_become_words():
    assert [number(x) for x in (math.nan, math.inf, -math.inf, 1.5, 3, True)] == ["nan", "inf", "-inf", 1.5, 3, 1]


def test_what_was_not_computed_stays_absent():
    document = json.loads(encode(DOCUMENT))
    assert document["values"] == {}
    assert document["ledgers"][0]["norm"] is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "not_json"),
        (encode(DOCUMENT)[:-20], "not_json"),
        (b"\xff\xfe", "not_json"),
        ("\ud800", "not_json"),
        (b"[1, 2]", "not_a_trace"),
        (b"{}", "not_a_trace"),
        (b'{"name": "net", "ops": []}', "not_a_trace"),
        (changed(version=7), "newer_version"),
        (changed(version=1), "older_version"),
        (changed(version="1"), "not_a_trace"),
        (changed(version=True), "not_a_trace"),
        (changed(extra=1), "bad_structure"),
        (changed(forward="no"), "bad_structure"),
        (inside("events", 0, kind="Exploded"), "bad_structure"),
        (inside("events", 0, surprise=1), "bad_structure"),
        (inside("events", 0, ledger=5), "bad_reference"),
        (inside("events", 0, forward=-1), "bad_reference"),
        (inside("events", 0, lines=["f99"]), "bad_reference"),
        (inside("events", 3, group=0), "bad_reference"),
        (inside("forward", 0, id="f1"), "bad_reference"),
        (inside("forward", 0, made=10_000), "bad_reference"),
        (inside("forward", 0, history=[]), "bad_reference"),
        (inside("backward", 1, of=70), "bad_reference"),
        (inside("backward", 1, id="b0"), "bad_reference"),
        (inside("backward", 1, id='b1" onload="x'), "bad_reference"),
        (inside("backward", 1, role="passed"), "bad_reference"),
        (inside("ledgers", 0, at=-1), "bad_reference"),
        (changed(graph={}), "bad_reference"),
        (changed(graph={"svg": "<svg/>", "omitted": "too large"}), "bad_reference"),
        (inside("forward", 0, outputs=["h"]), "bad_reference"),
        (inside("forward", 0, outputs=["h@0", "k@0"]), "bad_reference"),
        (inside("forward", 0, outputs=["h@" + 30 * "9"]), "bad_reference"),
        (inside("forward", 0, outputs=["h@٣"]), "bad_reference"),
        (inside("events", 10, blobs=["h@0", "\\"]), "bad_reference"),
        (inside("ledgers", 0, blob="a"), "bad_reference"),
        (inside("ledgers", 0, total="@0"), "bad_reference"),
        (changed(gradients={"x": "x_grad"}), "bad_reference"),
        (inside("events", 0, group=10**30), "bad_structure"),
        (changed(values={"x@0": msgspec.to_builtins(value(max=10**400))}), "bad_number"),
        (changed(values={"x@0": msgspec.to_builtins(value(shape=[2**40, 2**40], size=2**53))}), "bad_reference"),
        (changed(values={"x": msgspec.to_builtins(value())}), "bad_reference"),
        (inside("events", 0, subnet="s0"), "bad_reference"),
        (inside("events", 0, detail={}), "bad_structure"),
        (inside("events", 0, detail=detail(0, index="<script>")), "bad_structure"),
        (inside("events", 0, detail=detail(0, index=10**6)), "bad_reference"),
        (inside("events", 0, detail=detail(0, in_versions=[2**31, 0, 0])), "bad_reference"),
        (b"[" * 100_000, "too_deep"),
        (changed(net={"ops": None}).replace("null", "[" * 400 + "]" * 400, 1), "too_deep"),
    ],
)
def test_faults_are_named(data: bytes | str, kind: str):
    with pytest.raises(TraceError) as caught:
        decode(data)
    assert caught.value.kind == kind
    assert isinstance(caught.value, GradvizError)


def test_a_newer_version_tells_the_way_out():
    with pytest.raises(TraceError, match="version 7") as caught:
        decode(changed(version=7))
    assert "pip install --upgrade gradviz" in caught.value.explain()


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": [3]},
        {"shape": [-1, -2]},
        {"nan": -1},
        {"preview": [[0.0]] * 7},
        {"preview": [[0.0] * 17]},
    ],
)
def test_statistics_that_contradict_themselves_are_refused(wrong: dict[str, object]):
    with pytest.raises(TraceError, match="x@0"):
        encode(replace(DOCUMENT, values={"x@0": value(**wrong)}))


def test_a_number_that_is_not_json_is_not_written():
    with pytest.raises(TraceError) as caught:
        encode(replace(DOCUMENT, values={"x@0": value(min=math.nan)}))
    assert caught.value.kind == "bad_number"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(JSON)
def test_any_json_is_a_trace_or_a_clear_error(content: object):
    with pytest.raises(TraceError):
        decode(json.dumps({"format": "gradviz-trace", "version": 6, "forward": content}))
    with pytest.raises(TraceError):
        decode(json.dumps(content))


def test_decoding_gives_the_documented_types():
    assert isinstance(decode(encode(DOCUMENT)), Trace)


def places(content: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The way to each thing in a JSON document."""
    yield path
    children = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


WRITTEN = json.loads(encode(DOCUMENT))
PLACES = [path for path in places(WRITTEN) if path]
DAMAGE = [None, -1, 2**40, 1e308, "", "x@0", "<script>", "f99", [], {}, [[[0]]]]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PLACES), st.sampled_from(DAMAGE))
def test_a_damaged_document_is_refused_or_stepped_and_answers(path: tuple[Any, ...], damage: object):
    document = copy.deepcopy(WRITTEN)
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = damage
    try:
        session = gradviz.Session(decode(json.dumps(document)))
    except TraceError:
        return
    for _ in range(len(session)):
        assert session.step() is not None
        assert session.narration is not None
    blob = session.trace().forward[0].outputs[0] if session.trace().forward else "x"
    for question in (session.why_none, session.versions, session.ledger, session.provenance, session.check):
        with contextlib.suppress(GradvizError):
            str(question(blob))
