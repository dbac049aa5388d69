"""Files are written whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

import gradviz
from gradviz import GradvizError, Session
from gradviz.program import files
from gradviz.program.files import FileError, write_together, write_whole
from gradviz.program.net import NetDef


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        write_whole(tmp_path / "page.html", content)
        assert (tmp_path / "page.html").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_new_file_has_the_permissions_of_any_and_a_replaced_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "made", b"x")
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    (tmp_path / "made").chmod(0o640)
    write_whole(tmp_path / "made", b"y")
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o640


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, word in {"folder": "a folder", "pipe": "no regular file"}.items():
        with pytest.raises(FileError, match=word) as raised:
            write_whole(tmp_path / name, b"x")
        assert raised.value.kind == "not_a_file"
    assert (tmp_path / "folder").is_dir()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"There is no folder .*nowhere") as raised:
        write_whole(tmp_path / "nowhere" / "page.html", b"x")
    assert raised.value.kind == "no_folder"
    assert list(tmp_path.iterdir()) == []


def test_a_write_protected_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept.html"
    kept.write_bytes(b"mine")
    kept.chmod(0o444)
    # Root may write to anything; what the system tells another user is told here.
    monkeypatch.setattr(files.os, "access", lambda path, mode: bool(Path(path).stat().st_mode & stat.S_IWUSR))
    with pytest.raises(FileError, match="write-protected") as raised:
        write_whole(kept, b"x")
    assert raised.value.kind == "read_only"
    assert kept.read_bytes() == b"mine"


def test_a_write_that_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(b"old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "page.html", "no bytes")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_bytes() == b"old"


def test_of_files_that_belong_together_none_is_written_where_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    for wrong in (tmp_path / "folder", tmp_path / "nowhere" / "two", tmp_path / ("long" * 100)):
        with pytest.raises(FileError, match=wrong.name):
            write_together({tmp_path / "one": b"new", wrong: b"new"})
    assert (tmp_path / "one").read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"one", "folder"}


def test_what_is_read_is_named_where_something_is_wrong_in_it(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text("[1")
    for read in (NetDef.load, Session.load):
        with pytest.raises(GradvizError, match=r"net\.json: ") as raised:
            read(tmp_path / "net.json")
        assert str(raised.value).count("net.json") == 1
        with pytest.raises(FileError, match="nowhere does not exist") as raised:
            read(tmp_path / "nowhere")
        assert str(raised.value).count("nowhere") == 1


@pytest.mark.parametrize("name", ["long" * 100, "nothing\0", "half a character \ud800"])
def test_what_can_be_the_name_of_no_file_is_refused(name: str, tmp_path: Path) -> None:
    net = gradviz.Net("first")
    net.Tanh("x", "y")
    session = gradviz.debug(net, ["y"])
    for write in (session.save, session.to_html, net.save):
        with pytest.raises(FileError, match="cannot be written") as raised:
            write(tmp_path / name)
        assert raised.value.kind == "cannot_write"
    for read in (NetDef.load, Session.load):
        with pytest.raises(FileError, match="does not exist"):
            read(tmp_path / name)
    with pytest.raises(GradvizError, match="There is no folder"):
        gradviz.ranks(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_net_that_cannot_be_written_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    net = NetDef("first")
    net.save(tmp_path / "net.json")
    written = (tmp_path / "net.json").read_bytes()
    with pytest.raises(FileError):
        net.save(tmp_path)
    with pytest.raises(FileError):
        net.save(tmp_path / "nowhere" / "net.json")
    assert [path.name for path in tmp_path.iterdir()] == ["net.json"]
    assert (tmp_path / "net.json").read_bytes() == written


def test_what_the_system_refuses_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written: File name too long") as raised:
        write_whole(tmp_path / ("long" * 100), b"x")
    assert raised.value.kind == "cannot_write"
    assert list(tmp_path.iterdir()) == []
