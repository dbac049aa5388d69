"""The text of the user's code, and of rules, as documents keep it."""

import json
import linecache

import pytest

import gradviz
from gradviz.debugger.document import TraceError, decode, encode
from gradviz.debugger.telling.sources import MOST_LINES, rules_of, sources_of
from gradviz.operators.registry import source_of
from gradviz.program.code_line import line_at, name_files, named

PROGRAM = """import math

def halved(x):
    y = x / 2
    return y

class Model:
    @property
    def one(self):
        return 1


    def two(self):
        return 2

a = 1
b = 2
""" + "\n".join(f"# {number}" for number in range(20)) + "\nc = 3\n"  # fmt: skip


def lines_in(path, *numbers):
    """The lines with these numbers of a file, as the instructions that stand on them."""
    codes = [compile(path.read_text(), str(path), "exec")]
    for code in codes:
        codes += [one for one in code.co_consts if hasattr(one, "co_code")]
    found = {number: (code, start) for code in codes for start, _, number in code.co_lines()}
    return [line_at(*found[number]) for number in numbers]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "halving.py"
    path.write_text(PROGRAM)
    return path


def stretches(sources):
    return [(one.first, one.first + one.text.count("\n")) for one in sources]


def test_of_a_file_there_are_the_functions_around_its_lines_and_what_stands_beside_each_other(program):
    lines = program.read_text().splitlines()
    found = sources_of(lines_in(program, 4, 10, 17, 38))
    assert stretches(found) == [(3, 17), (38, 38)]
    assert [one.text.splitlines() for one in found] == [lines[2:17], lines[37:38]]
    assert {one.file for one in found} == {"halving.py"}
    assert stretches(sources_of(lines_in(program, 4))) == [(3, 5)]
    assert stretches(sources_of(lines_in(program, 10))) == [(7, 14)]


def test_of_a_long_class_there_is_the_method_and_of_a_long_function_some_lines(tmp_path):
    path = tmp_path / "long.py"
    many = "\n".join(f"        x = {number}" for number in range(MOST_LINES))
    path.write_text(f"class Long:\n    def f(self):\n        x = 0\n\n    def g(self):\n{many}\n")
    assert stretches(sources_of(lines_in(path, 3))) == [(2, 3)]
    assert stretches(sources_of(lines_in(path, 100))) == [(90, 110)]


def test_of_an_edited_file_there_are_the_lines_as_they_were(program):
    codes = lines_in(program, 4, 17)
    program.write_text("# new\n" + PROGRAM)
    linecache.checkcache(str(program))
    found = sources_of(codes)
    assert [(one.first, one.text) for one in found] == [(4, "y = x / 2"), (17, "b = 2")]


def test_a_cell_is_there_whole(tmp_path):
    path = tmp_path / "ipykernel_1" / "12345.py"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    name_files(lambda given: "cell 4" if given == str(path) else None)
    [cell] = sources_of(lines_in(path, 4))
    assert (cell.file, cell.first, cell.text) == ("cell 4", 1, PROGRAM.rstrip("\n"))


def test_rules_that_were_applied_have_their_text(program):
    place = f"{named(str(program))}:3"
    assert rules_of([place, "gone.py:7", "", "halving.py:x"]) == {place: "def halved(x):\n    y = x / 2\n    return y"}
    net = gradviz.Net()
    net.Tanh("x", "y")
    session = gradviz.debug(net, ["y"])
    [place] = {event.rule for event in session.events if event.kind == "RuleApplied"}
    assert place.startswith("gradviz/operators/activation.py:")
    assert "dy * (1 - y * y)" in session.trace().rules[place]


def test_the_text_of_a_rule_of_ones_own_is_saved(tmp_path):
    @gradviz.register_gradient("OwnCopy")
    def own_copy(op, g_output):
        return None, [g_output[0]]  # passes on

    net = gradviz.Net()
    net.add("OwnCopy", "x", "y")
    gradviz.debug(net, ["y"]).save(tmp_path / "own.gradviz.json")
    loaded = gradviz.load(tmp_path / "own.gradviz.json").trace()
    [(place, text)] = loaded.rules.items()
    assert place == source_of(own_copy)
    assert text.startswith('@gradviz.register_gradient("OwnCopy")\ndef own_copy')
    assert text.endswith("# passes on")


@pytest.mark.parametrize(
    "wrong", [[["a.py", 1, "x" * 200_001]], [["a.py", 0, ""]], [["a.py", 1, ""]] * 1001, [["a.py", 1]], "text"]
)
def test_texts_that_are_too_long_are_refused(wrong):
    net = gradviz.Net()
    net.Tanh("x", "y")
    document = json.loads(encode(gradviz.debug(net, ["y"]).trace()))
    assert decode(json.dumps(document | {"sources": [["a.py", 1, "x = 1"]]})).sources[0].text == "x = 1"
    with pytest.raises(TraceError):
        decode(json.dumps(document | {"sources": wrong}))
