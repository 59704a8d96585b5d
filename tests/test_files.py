"""Output files: whole or not at all."""

import os
import stat
import threading

import pytest

from gradtrace.errors import UsageError
from gradtrace.files import write_output


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith(".gradtrace")]


def test_new_file_follows_the_umask(tmp_path):
    path = tmp_path / "g.svg"
    old = os.umask(0o027)
    try:
        write_output(path, b"<svg/>")
    finally:
        os.umask(old)
    assert path.read_bytes() == b"<svg/>"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert leftovers(tmp_path) == []


def test_existing_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "g.svg"
    path.write_bytes(b"old")
    path.chmod(0o604)
    write_output(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_symbolic_link_stays(tmp_path):
    (tmp_path / "real.svg").write_bytes(b"old")
    link = tmp_path / "link.svg"
    link.symlink_to("real.svg")
    write_output(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real.svg").read_bytes() == b"new"


def test_dangling_link_makes_its_target(tmp_path):
    link = tmp_path / "link.svg"
    link.symlink_to("real.svg")
    write_output(link, b"new")
    assert (tmp_path / "real.svg").read_bytes() == b"new"


def test_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "g.svg"
    path.write_bytes(b"old")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(UsageError, match=r"cannot write .*no space left"):
        write_output(path, b"new")
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == []


def test_pipe_is_written_directly(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    reader.start()
    write_output(path, b"through")
    reader.join()
    assert heard == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_device():
    write_output("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(("name", "hint"), [("none/g.svg", "mkdir -p"), ("", "name a file in it")])
def test_errors_name_the_remedy(tmp_path, name, hint):
    with pytest.raises(UsageError) as caught:
        write_output(tmp_path / name, b"x")
    assert hint in caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_file_is_refused(tmp_path):
    path = tmp_path / "g.svg"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(UsageError):
        write_output(path, b"new")
    assert path.read_bytes() == b"old"
