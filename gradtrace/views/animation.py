"""A run as an animation: the graph grows statement by statement, gradients flow back, freed nodes
are dimmed.

    render(model, options, "gif") -> bytes        also "apng" and "webp"; "mp4" where ffmpeg is
                                                  installed

Every frame is the same drawing with the same positions: nodes that do not exist yet are invisible,
those that change are marked, and a line below describes the change. Pillow joins the frames. The
same run gives the same bytes.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tempfile

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple
from gradtrace.errors import RenderError
from gradtrace.sandbox import channel
from gradtrace.trace.record import Trace
from gradtrace.views import image, numbers
from gradtrace.views.dot import DotOptions, drawing_of
from gradtrace.views.frame import Layout
from gradtrace.views.labels import clip, visible
from gradtrace.views.model import Model
from gradtrace.views.story import BACKWARD, DONE, FORWARD, Moment, story
from gradtrace.views.style import THEMES, Theme

if TYPE_CHECKING:
    from gradtrace.sandbox.confine import Limits

FORMATS = {"gif": "GIF", "apng": "PNG", "webp": "WEBP"}
MOST = 120  # frames
MOST_NODES = 400
DPI, WIDEST = 110, 1600  # pixels
FPS = 10  # of a film
LONGEST = 600.0  # seconds of joining the frames of a film
MILLISECONDS = {FORWARD: 1000, BACKWARD: 1300, DONE: 3000}
CAPTION = 34  # pixels of the line below
SAMPLED = 8  # frames whose colours are counted
STATEMENT = re.compile(r"^\t+(?:subgraph|graph|node|edge)?.*?\bid=\"?([tofge]\d+)\"?")


class Frame(NamedTuple):
    """The state of one frame: its caption, and the keys of nodes and edges that are hidden, changed
    or dimmed.
    """

    kind: str
    caption: str
    hidden: frozenset[str]
    now: frozenset[str]
    flowed: frozenset[str]
    freed: frozenset[str]


# ---- what each frame shows


class State:
    """The nodes and edges that are visible after a number of moments."""

    def __init__(self, drawn: Model) -> None:
        self.model = drawn
        self.trace = drawn.trace
        self.keys = {node.key for node in drawn.nodes}
        self.there: set[str] = set()
        self.flowed: set[str] = set()
        self.freed: set[str] = set()
        self.made_by = {o.function: o.id for o in drawn.trace.operations if o.function is not None}
        if drawn.style == "autograd":  # the leaves' accumulators are where the graph begins
            self.there = {
                node.key
                for node in drawn.nodes
                if node.kind == "function" and self._is_leaf(node.record)
            }

    def _is_leaf(self, function: int) -> bool:
        return self.trace.functions[function].variable is not None

    def of_operation(self, index: int) -> set[str]:
        group = self.model.fold.member[index]
        function = self.trace.operations[index].function
        outputs = self.trace.operations[index].outputs
        joined = group is None and len(outputs) == 1 and outputs[0] in self.model.joined
        if joined:
            keys = {f"t{outputs[0]}"}
        else:
            keys = {f"o{index}" if group is None else f"g{group}"}
        return keys if function is None else keys | {f"f{function}"}

    def take(self, moment: Moment) -> Frame:
        now: set[str] = set()
        if moment.step is not None:
            step = self.trace.steps[moment.step]
            function = self.trace.functions[step.function]
            tensors = function.outputs if function.variable is None else (function.variable,)
            now = {f"t{t}" for t in tensors} | {f"f{function.id}"}
            if function.id in self.made_by:
                now |= self.of_operation(self.made_by[function.id])
            self.flowed |= now
            if step.freed:
                self.freed |= {key for key in now if key[0] != "t"}  # a tensor keeps its value
        else:
            for index in moment.operations:
                now |= self.of_operation(index)
            now |= {f"t{t}" for t in moment.tensors}
            self.there |= now
        marked = (now & self.keys) if moment.kind in (FORWARD, BACKWARD) else set()
        hidden = self.keys - self.there
        lines = {
            f"e{i}"
            for i, e in enumerate(self.model.edges)
            if e.source in hidden or e.target in hidden
        }
        if moment.kind == BACKWARD:
            marked |= {
                f"e{i}" for i, e in enumerate(self.model.edges) if e.flows and e.target in marked
            }
        freed = self.freed - now
        return Frame(
            moment.kind,
            moment_text(self.trace, moment),
            frozenset(hidden | lines),
            frozenset(marked),
            frozenset(self.flowed & self.keys),
            frozenset(freed & self.keys),
        )


def frames(drawn: Model) -> list[Frame]:
    """Return the frames; a moment without a visible change (inside a folded box) gives no frame."""
    state = State(drawn)
    film: list[Frame] = []
    for moment in story(drawn.trace):
        frame = state.take(moment)
        if film and frame[2:] == film[-1][2:] and moment.kind != DONE:
            continue
        film.append(frame)
    if len(film) > MOST:
        chosen = sorted({round(i * (len(film) - 1) / (MOST - 1)) for i in range(MOST)})
        film = [film[i] for i in chosen]
    return film


def moment_text(trace: Trace, moment: Moment) -> str:
    """Describe a moment in words."""
    if moment.kind == FORWARD:
        return f"forward   {moment.text}"
    if moment.kind == DONE:
        freed = any(step.freed for step in trace.steps)
        return "done: the saved values are freed" if freed else "done"
    if moment.step is None:
        return "start: the leaves have their values"
    step = trace.steps[moment.step]
    function = trace.functions[step.function]
    got = ", ".join(numbers.short(value) or "none" for value in step.upstream)
    summands = parts(trace, moment.step)
    if len(summands) > 1:
        got = f"{' + '.join(summands)} = {got}"
    if function.variable is not None:
        return f"backward   {trace.tensors[function.variable].label} gets {got}"
    outputs = ", ".join(trace.tensors[t].label for t in function.outputs)
    sent = ", ".join(numbers.short(value) for value in step.downstream if value is not None)
    return f"backward   {function.name} of {outputs}: gets {got}, sends {sent or 'nothing'}"


def parts(trace: Trace, number: int) -> list[str]:
    """Return the summands of a step's gradient, in order of arrival; [] if it is not a sum of
    numbers.
    """
    step = trace.steps[number]
    places: dict[int, list[int]] = {}
    for edge in trace.function_edges:
        if edge.target == step.function and not edge.output_nr:
            places.setdefault(edge.source, []).append(edge.input_index)
    summands: list[str] = []
    for before in trace.steps[:number]:
        for place in places.get(before.function, ()) if before.number == step.number else ():
            sent = before.downstream[place] if place < len(before.downstream) else None
            if sent is not None and sent.numel == 1:
                summands.append(numbers.short(sent))
    return summands


# ---- drawing


def frame_text(source: str, frame: Frame, theme: Theme) -> str:
    """Return the DOT text of one frame: the whole drawing's, with the frame's attributes."""
    lines = []
    for line in source.split("\n"):
        match = STATEMENT.match(line) if line.endswith("]") else None
        lines.append(line if match is None else statement(line, match[1], frame, theme))
    return "\n".join(lines)


def statement(line: str, key: str, frame: Frame, theme: Theme) -> str:
    if key in frame.hidden:
        return line[:-1] + " style=invis]"
    # its gradient is not there yet, but has its place
    if key not in frame.flowed and key[0] != "e":
        for color in (theme.gradient, theme.gradient_spark):
            line = line.replace(f'COLOR="{color}"', f'COLOR="{theme.background}00"')
    if key in frame.freed:
        line = re.sub(r'COLOR="#[0-9a-f]{6}"', f'COLOR="{theme.faint}"', line)
        return (
            line[:-1]
            + f' color="{theme.idle}" fillcolor="{theme.background}" fontcolor="{theme.faint}"]'
        )
    if key in frame.now:
        if key[0] == "e" and frame.kind == BACKWARD:
            line = line[:-1] + " dir=back arrowtail=normal arrowhead=normal]"
        return line[:-1] + f' color="{theme.bad}" penwidth={"2.4" if key[0] == "e" else "3.2"}]'
    return line


def render(
    drawn: Model,
    options: DotOptions,
    suffix: str,
    dpi: int | None = None,
    speed: float = 1.0,
    size: tuple[int, int] | None = None,
) -> bytes:
    """Return the animation, `speed` times as fast, in a picture of `size` (width, height) pixels if
    that is given.

    RenderError if Pillow or (for an MP4) ffmpeg is missing or cannot write the format, if the
    drawing does not fit that size, or if it has too many frames to follow.
    """
    pillow = load_pillow(suffix)
    if suffix == "mp4":
        ffmpeg()  # its absence is an error before anything is drawn
    if len(drawn.nodes) > MOST_NODES:
        raise RenderError(
            f"{len(drawn.nodes):,} nodes are too many to animate",
            "--depth N folds them; or -o FILE.html, where the run is played step by step",
        )
    theme = THEMES[options.theme]
    # the fills would tell the end from the beginning
    drawing = drawing_of(drawn, options._replace(color_by="role"))
    told = frames(drawn)
    image.refuse_too_long(max(Layout(drawing).size()), dpi or 72)
    source = drawing.text
    resolution = dpi or fitting(pillow, source, size)
    texts = [frame_text(source, frame, theme) for frame in told]
    pictures = [
        opened(pillow, content) for content in image.render_many(texts, "png", dpi=resolution)
    ]
    needed = (max(p.width for p in pictures), max(p.height for p in pictures) + CAPTION)
    if size is not None and (needed[0] > size[0] or needed[1] > size[1]):
        needs = f"{needed[0]}x{needed[1]}"
        raise RenderError(
            f"the animation needs {needs} pixels, more than {size[0]}x{size[1]}",
            "give a larger --size",
        )
    size = size or needed
    finished = [
        captioned(pillow, p, frame.caption, (i + 1) / len(told), size, theme)
        for i, (p, frame) in enumerate(zip(pictures, told, strict=True))
    ]
    durations = [max(20, round(MILLISECONDS.get(frame.kind, 1200) / speed)) for frame in told]
    return (
        filmed(finished, durations)
        if suffix == "mp4"
        else joined(pillow, finished, durations, suffix)
    )


def load_pillow(suffix: str) -> Any:
    try:
        from PIL import Image, ImageDraw, ImageFont, features
    except ImportError:
        raise RenderError(
            f"a .{suffix} needs Pillow, which is not installed",
            "pip install pillow; or -o FILE.html",
        ) from None
    if suffix == "webp" and not features.check("webp"):
        raise RenderError("this Pillow cannot write WebP", "write a .gif or .apng")
    return Image, ImageDraw, ImageFont


def fitting(pillow: Any, source: str, size: tuple[int, int] | None = None) -> int:
    """Return a resolution at which the drawing is not wider than a screen, or fits `size` with its
    caption.
    """
    small = opened(pillow, image.render(source, "png", dpi=72))
    width: int = small.width
    if size is None:
        return max(20, min(DPI, WIDEST * 72 // max(width, 1)))
    room = min((size[0] - 1) / max(width, 1), (size[1] - CAPTION - 1) / max(small.height, 1))
    return max(20, int(72 * room))


def opened(pillow: Any, content: bytes) -> Any:
    with pillow[0].open(io.BytesIO(content)) as picture:
        return picture.convert("RGB")


def captioned(
    pillow: Any, picture: Any, text: str, share: float, size: tuple[int, int], theme: Theme
) -> Any:
    """Return the frame's picture with its caption and a progress bar."""
    Image, ImageDraw, ImageFont = pillow
    whole = Image.new("RGB", size, theme.background)
    whole.paste(
        picture, ((size[0] - picture.width) // 2, (size[1] - CAPTION - picture.height) // 2)
    )
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fonts", "DejaVuSans.ttf")
    font = ImageFont.truetype(own, 15)
    pen = ImageDraw.Draw(whole)
    shown = visible(text)
    while len(shown) > 12 and pen.textlength(shown, font=font) > size[0] - 24:
        shown = clip(shown, int(len(shown) * 0.9))
    pen.text((12, size[1] - CAPTION + 6), shown, font=font, fill=theme.ink)
    pen.rectangle((0, size[1] - 4, int(size[0] * share), size[1]), fill=theme.spark)
    return whole


def joined(pillow: Any, pictures: list[Any], durations: list[int], suffix: str) -> bytes:
    """Join the frames to one file; a GIF has one palette for all frames."""
    if suffix == "gif":
        pictures = in_one_palette(pillow, pictures)
    out = io.BytesIO()
    if suffix == "gif":
        extra = {"disposal": 1, "optimize": False}
    else:
        extra = {"lossless": True} if suffix == "webp" else {}
    pictures[0].save(
        out,
        FORMATS[suffix],
        save_all=True,
        append_images=pictures[1:],
        duration=durations,
        loop=0,
        **extra,
    )
    return out.getvalue()


def ffmpeg() -> str:
    """Return the path of ffmpeg. RenderError if it is not installed."""
    path = shutil.which("ffmpeg")
    if path is None:
        raise RenderError(
            "an .mp4 needs ffmpeg, which is not installed",
            "install ffmpeg, or write a .gif or .webp",
        )
    return path


def filmed(pictures: list[Any], durations: list[int]) -> bytes:
    """Return the frames as an MP4 that common players support: H.264 with sides of even length.
    RenderError if ffmpeg fails, or is not there.
    """
    frames = (
        p.tobytes() * max(1, round(ms * FPS / 1000))
        for p, ms in zip(pictures, durations, strict=True)
    )
    width, height = pictures[0].size
    if channel.is_open():
        return channel.ask_with("film", b"".join(frames), width=width, height=height)
    return encoded(b"".join(frames), width, height, LONGEST)


def encoded(
    frames: bytes, width: int, height: int, seconds: float, limits: Limits | None = None
) -> bytes:
    """Have ffmpeg make an MP4 of frames of three bytes a pixel; it may read and write only a folder
    of its own, cannot exceed `limits`, and ends with this process.
    """
    from gradtrace.sandbox import confine

    program = ffmpeg()
    even = f"pad={width + width % 2}:{height + height % 2}"
    taken = [
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{width}x{height}",
        "-r",
        str(FPS),
        "-i",
        "-",
    ]
    encoding = [
        "-vf",
        even,
        "-c:v",
        "libx264",
        "-pix_fmt",
        "yuv420p",
        "-movflags",
        "+faststart",
        "-threads",
        "1",
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "film.mp4")
        command = [
            program,
            "-loglevel",
            "error",
            "-y",
            *taken,
            *encoding,
            "-fflags",
            "+bitexact",
            file,
        ]
        rights = confine.to_start(program)._replace(write=(folder,))
        try:
            done = subprocess.run(
                command,
                input=frames,
                capture_output=True,
                timeout=seconds,
                preexec_fn=confine.starting(limits or confine.Limits(), rights),
            )
        except subprocess.TimeoutExpired:
            raise RenderError("ffmpeg took too long", "write a .gif or .webp") from None
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise RenderError(
                f"ffmpeg failed: {''.join(reason) or 'no reason given'}", "write a .gif or .webp"
            )
        with open(file, "rb") as written:
            return written.read()


def in_one_palette(pillow: Any, pictures: list[Any]) -> list[Any]:
    """Return the pictures in their 256 most frequent colours; each pixel gets the nearest one,
    without dithering.

    Pillow's own search for the nearest colour is approximate and turns a light grey into pink.
    """
    import numpy as np

    codes = [
        np.asarray(picture, np.int32) @ np.array([65536, 256, 1], np.int32) for picture in pictures
    ]
    some = codes[:: max(1, len(codes) // SAMPLED)] + codes[-1:]
    colors, counts = np.unique(
        np.concatenate([pixels.ravel() for pixels in some]), return_counts=True
    )
    chosen = colors[np.lexsort((colors, -counts))][:256]
    nearest = np.full(1 << 24, -1, np.int16)
    nearest[chosen] = np.arange(len(chosen))
    flat = np.stack([chosen >> 16, chosen >> 8 & 255, chosen & 255], 1)
    converted = []
    for pixels in codes:
        missing = np.unique(pixels[nearest[pixels] < 0])
        parts = np.stack([missing >> 16, missing >> 8 & 255, missing & 255], 1)
        for start in range(0, len(missing), 4096):
            distance = ((parts[start : start + 4096, None] - flat[None]) ** 2).sum(2)
            nearest[missing[start : start + 4096]] = distance.argmin(1)
        picture = pillow[0].fromarray(nearest[pixels].astype(np.uint8), "P")
        picture.putpalette(flat.astype(np.uint8).tobytes() + bytes(768 - 3 * len(chosen)))
        converted.append(picture)
    return converted
