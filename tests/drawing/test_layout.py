"""Graphviz in its cage: pictures, errors and the time limit."""

import time

import pytest

from gradviz.drawing import DrawingError, layout


def tangle(size: int) -> str:
    return "digraph {" + ";".join(f"a{i} -> b{j}" for i in range(size) for j in range(size)) + "}"


def test_dot_becomes_svg():
    assert "<svg" in layout("digraph { a -> b }")


def test_the_time_limit_holds_and_the_next_drawing_works():
    started = time.monotonic()
    with pytest.raises(DrawingError, match=r"within 0\.2 seconds") as caught:
        layout(tangle(250), seconds=0.2)
    assert caught.value.kind == "too_slow"
    assert time.monotonic() - started < 3
    assert "<svg" in layout("digraph { a }")


def test_what_is_not_dot_is_refused():
    with pytest.raises(DrawingError, match="refused this graph") as caught:
        layout("digraph { a -> ")
    assert caught.value.kind == "bad_dot"


def test_a_drawing_can_read_no_file(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"\x89PNG")
    assert "<image" not in layout(f'digraph {{ a [image="{secret}"] }}')
