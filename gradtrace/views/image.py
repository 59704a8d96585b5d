"""Convert DOT text to SVG, PNG or PDF.

The wheel `pygraphviz` includes Graphviz and needs no system package. It holds the GIL, cannot be
interrupted, and a crash in Graphviz ends the process. So only small and simple graphs are drawn in
this process; others are drawn in a subprocess with a time limit, which runs this module as `python
-m gradtrace.views.image FORMAT`: it reads DOT from stdin and writes the picture to stdout. Where
pygraphviz cannot be imported, a system `dot` draws. The same text gives the same bytes every time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import zlib
from contextlib import contextmanager, suppress

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator
from gradtrace.errors import RenderError, UsageError
from gradtrace.sandbox import channel, scratch

if TYPE_CHECKING:
    from gradtrace.sandbox.confine import Limits

FORMATS = ("svg", "png", "pdf")
IN_PROCESS = 200  # nodes
TIME_LIMIT = 120.0  # seconds
PNG_DPI = 192  # sharp on slides
SEPARATOR = "\x00"  # between the sources that one child draws; DOT text has no such character
LARGEST = 32_750  # pixels of a PNG's side; cairo shrinks what is longer than 32,767 to about that
LEAST_DPI = 10
HEADER_END = 33  # bytes of a PNG up to the end of its first chunk, IHDR
SURELY = 1.5  # a length is estimated to within this factor

_lock = threading.Lock()


def render(
    source: str, format: str, *, dpi: int | None = None, time_limit: float = TIME_LIMIT
) -> bytes:
    """Return the picture of `source` (DOT) in `format`; `dpi` applies only to PNG
    (default: 192).

    UsageError for an unknown format; RenderError if no renderer is found, it fails, or it takes too
    long.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown picture format '{format}'", f"use one of: {', '.join(FORMATS)}")
    resolution = (dpi or PNG_DPI) if format == "png" else 0
    if is_simple(source) and pygraphviz_works():
        picture = draw(source, format, resolution)
    else:
        picture = _apart(source, format, resolution, time_limit)
    if is_shrunk(picture):
        raise too_long(source, resolution)
    return undated(picture) if format == "pdf" else with_resolution(picture, resolution)


def render_many(
    sources: list[str], format: str, *, dpi: int | None = None, time_limit: float = TIME_LIMIT
) -> list[bytes]:
    """Return the pictures of several sources, as `render` makes each; those that need a subprocess
    share one.
    """
    resolution = (dpi or PNG_DPI) if format == "png" else 0
    if len(sources) == 1 or (all(map(is_simple, sources)) and pygraphviz_works()):
        return [render(source, format, dpi=dpi, time_limit=time_limit) for source in sources]
    joined = _apart(SEPARATOR.join(sources), format, resolution, time_limit)
    pictures: list[bytes] = []
    while joined:
        length = int.from_bytes(joined[:8], "big")
        pictures.append(with_resolution(joined[8 : 8 + length], resolution))
        joined = joined[8 + length :]
    if len(pictures) != len(sources):
        raise failure("")
    return pictures


def is_simple(source: str) -> bool:
    """Whether a graph is so simple that Graphviz can draw it in this process without the risk of a
    crash or a long run.
    """
    return (
        node_count(source) <= IN_PROCESS
        and "subgraph cluster" not in source
        and "rank=same" not in source
    )


def with_resolution(picture: bytes, dpi: int) -> bytes:
    """Return a PNG with its resolution in it (pHYs, in pixels per metre), by which slides and
    documents scale it; any other picture as it is.
    """
    if not picture.startswith(b"\x89PNG"):
        return picture
    per_metre = round(dpi / 0.0254).to_bytes(4, "big")
    chunk = b"pHYs" + per_metre + per_metre + b"\x01"
    end = HEADER_END
    return (
        picture[:end] + b"\0\0\0\x09" + chunk + zlib.crc32(chunk).to_bytes(4, "big") + picture[end:]
    )


def is_shrunk(picture: bytes) -> bool:
    """Whether a PNG has been scaled down because the graph is larger than cairo can draw."""
    sides = (picture[16:20], picture[20:24]) if picture.startswith(b"\x89PNG") else ()
    return any(int.from_bytes(side, "big") >= LARGEST for side in sides)


def refuse_too_long(points: float, dpi: int | None = None) -> None:
    """Raise RenderError before a PNG is laid out whose longer side, estimated in points, is far too
    long.
    """
    resolution = dpi or PNG_DPI
    if points * resolution / 72 > SURELY * LARGEST:
        raise refusal(points, resolution, "about ")


def too_long(source: str, resolution: int) -> RenderError:
    """Return the error for a picture that is too long for a PNG, with its length and a hint."""
    match = re.search(rb'<svg width="([\d.]+)pt" height="([\d.]+)pt"', render(source, "svg"))
    return refusal(max(map(float, match.groups())) if match is not None else 0.0, resolution)


def refusal(points: float, resolution: int, about: str = "") -> RenderError:
    """Return the error for a picture of a length in points, which may be an estimate."""
    fits = int(LARGEST * 72 / max(points, 1.0) / (SURELY if about else 1))
    smaller = f"--dpi {fits} fits; " if fits >= LEAST_DPI else ""
    return RenderError(
        f"at {resolution} dpi the PNG would be {about}{points * resolution / 72:,.0f} pixels long; "
        f"no more than {LARGEST:,} can be drawn",
        f"{smaller}--depth N folds it; an .svg, .pdf or .html has no such limit",
    )


def node_count(source: str) -> int:
    """Return the approximate number of nodes in a DOT text from `dot.source`."""
    return len(re.findall(r"^\t+(?!graph |node |edge )\w+ \[", source, re.MULTILINE))


def pygraphviz_works() -> bool:
    """Whether pygraphviz can be imported."""
    try:
        with quiet():
            import pygraphviz  # noqa: F401
    except (ImportError, OSError):
        return False
    return True


def draw(source: str, format: str, resolution: int = 0) -> bytes:
    """Draw in this process. RenderError if Graphviz refuses the text."""
    import pygraphviz

    with _lock, quiet() as said, fonts():
        try:
            with scratch.empty_file() as file:  # AGraph(string=...) makes a file too
                file.write(source.encode())
                file.seek(0)
                graph = pygraphviz.AGraph(filename=file)
            if resolution:
                graph.graph_attr["dpi"] = str(resolution)
            picture = graph.draw(format=format, prog="dot")
            graph.close()
        except (ValueError, pygraphviz.DotError) as error:
            raise failure(said() or str(error)) from error
    if not picture:
        raise failure(said())
    return bytes(picture)


def _apart(source: str, format: str, resolution: int, time_limit: float) -> bytes:
    """Draw in a process of its own, which can be stopped; a confined process has its broker start
    it.
    """
    if channel.is_open():
        return channel.ask_with(
            "render", source.encode(), format=format, dpi=resolution, time_limit=time_limit
        )
    return drawn_apart(source.encode(), format, resolution, time_limit)


def drawn_apart(
    source: bytes, format: str, resolution: int, time_limit: float, limits: Limits | None = None
) -> bytes:
    """Draw DOT text, which nobody trusts, in a process that gives up its rights before it reads the
    text.

    With `limits` the process cannot exceed them, and ends with this one.
    """
    if pygraphviz_works() and sys.executable:
        return _child(source, format, resolution, time_limit, limits)
    return _system(source, format, resolution, time_limit, limits)


def _child(
    source: bytes, format: str, resolution: int, time_limit: float, limits: Limits | None
) -> bytes:
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    from gradtrace.sandbox import confine

    # -P: no module of the current folder may take the place of one of ours
    command = [sys.executable, "-P", "-m", "gradtrace.views.image", format, str(resolution)]
    # the child inherits the folder, and leaves none of its own behind when it is stopped
    with fonts():
        prepare = None if limits is None else confine.starting(limits)
        return _run(
            command,
            source,
            time_limit,
            {**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            prepare,
        )


def system_dot() -> str | None:
    """Return the path of the machine's own `dot`."""
    import shutil

    return shutil.which("dot")


def _system(
    source: bytes, format: str, resolution: int, time_limit: float, limits: Limits | None
) -> bytes:
    """Draw with the machine's own `dot`."""
    program = system_dot()
    if program is None:
        raise RenderError(
            "no Graphviz to draw with",
            "pip install pygraphviz, or apt-get install graphviz; -o FILE.dot writes the graph "
            "without drawing it",
        )
    settings = [f"-Gdpi={resolution}"] if resolution else []
    from gradtrace.sandbox import confine

    prepare = confine.starting(limits or confine.Limits(), confine.to_start(program))
    return _run([program, f"-T{format}", *settings], source, time_limit, None, prepare)


def _run(
    command: list[str],
    source: bytes,
    time_limit: float,
    environment: dict[str, str] | None,
    prepare: Any = None,
) -> bytes:
    try:
        done = subprocess.run(
            command,
            input=source,
            capture_output=True,
            timeout=time_limit,
            env=environment,
            preexec_fn=prepare,
        )
    except subprocess.TimeoutExpired:
        raise RenderError(
            f"drawing {node_count(source.decode())} nodes took more than {time_limit:g} s and was "
            "stopped",
            "fold it with --depth N, or write -o FILE.dot",
        ) from None
    except OSError as error:
        raise failure(str(error)) from error
    if done.returncode or not done.stdout:
        raise failure(complaint(done.stderr.decode(errors="replace")))
    return done.stdout


def failure(reason: str) -> RenderError:
    return RenderError(
        f"Graphviz could not draw the graph{': ' + reason if reason else ''}", "try -o FILE.dot"
    )


def complaint(said: str) -> str:
    """Return the last line that Graphviz wrote, without fontconfig's remarks on the system's
    files.
    """
    lines = [
        line.strip()
        for line in said.splitlines()
        if line.strip() and not line.startswith("Fontconfig")
    ]
    return lines[-1] if lines else ""


def undated(pdf: bytes) -> bytes:
    """Return a PDF without the creation date that cairo writes, so that the same graph gives the
    same bytes.
    """
    return re.sub(rb"(/CreationDate \(D:)\d{14}", rb"\g<1>20000101000000", pdf)


@contextmanager
def quiet() -> Iterator[Any]:
    """Context manager: capture what C code writes to file descriptor 2; yields a function that
    returns its last line.

    What a pipe cannot hold is dropped: its end for writing does not block.
    """
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, AttributeError, ValueError):
        yield str  # without a stderr to protect; str() is ""
        return
    reading, writing = open_pipe()
    os.dup2(writing, 2)
    os.close(writing)

    def said() -> str:
        with suppress(BlockingIOError):
            return complaint(os.read(reading, 1 << 16).decode(errors="replace"))
        return ""

    try:
        yield said
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(reading)


def open_pipe() -> tuple[int, int]:
    """Return the ends of a pipe that does not block."""
    if hasattr(os, "pipe2"):
        return os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")


@contextmanager
def fonts() -> Iterator[None]:
    """Give fontconfig the package's own fonts while it starts, if the machine has none (a bare
    container).
    """
    if (
        sys.platform != "linux"
        or "FONTCONFIG_FILE" in os.environ
        or "FONTCONFIG_PATH" in os.environ
        or _has_font()
    ):
        yield
        return
    here = os.path.dirname(os.path.abspath(__file__))
    before = os.environ.get("XDG_DATA_HOME")
    os.environ.update(FONTCONFIG_FILE=os.path.join(here, "fonts", "fonts.conf"), XDG_DATA_HOME=here)
    try:
        yield
    finally:
        del os.environ["FONTCONFIG_FILE"], os.environ["XDG_DATA_HOME"]
        if before is not None:
            os.environ["XDG_DATA_HOME"] = before


def _has_font() -> bool:
    folders = map(os.path.expanduser, FONT_FOLDERS)
    return any("DejaVuSans.ttf" in files for folder in folders for _, _, files in os.walk(folder))


def main(arguments: list[str]) -> None:
    """Run the subprocess: FORMAT RESOLUTION, DOT on stdin, the picture on stdout; of several, each
    after its length.
    """
    from gradtrace.sandbox import confine

    scratch.prepare()
    confine.confine()
    sources = sys.stdin.buffer.read().decode().split(SEPARATOR)
    for source in sources:
        try:
            picture = draw(source, arguments[0], int(arguments[1]))
        except RenderError as error:
            sys.exit(error.message.partition(": ")[2] or error.message)
        if len(sources) > 1:
            sys.stdout.buffer.write(len(picture).to_bytes(8, "big"))
        sys.stdout.buffer.write(picture)
    sys.stdout.buffer.flush()
    # a large graph's memory is the system's to take back; freeing it piece by piece takes seconds
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
