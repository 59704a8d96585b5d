"""The animation: what each frame shows, one layout for all of them, and the file."""

import io
import shutil

import pytest
import trace_samples as samples

from gradtrace.errors import RenderError
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from gradtrace.views import animation, dot, render
from gradtrace.views.animation import MOST, frame_text, frames
from gradtrace.views.dot import DotOptions
from gradtrace.views.fold import fold
from gradtrace.views.model import model
from gradtrace.views.style import LIGHT

NOTES = """
import torch
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(1.0, requires_grad=True)
a = x + w
b = w + 1
y = a * b
y.backward()
"""


def drawn(text=NOTES, style="data"):
    watch = Watch()
    run = run_program(parse(text, name="s.py"), record=Keeper, watcher=watch)
    trace = capture(run, watch=watch)
    return model(trace, style, fold(trace))


def test_the_graph_grows_then_gradients_flow_then_nodes_are_freed():
    found = frames(drawn())
    assert [f.caption for f in found] == [
        "start: the leaves have their values",
        "forward   a = x + w",
        "forward   b = w + 1",
        "forward   y = a * b",
        "backward   MulBackward0 of y: gets 1, sends 2, 3",
        "backward   AddBackward0 of b: gets 3, sends 3",
        "backward   AddBackward0 of a: gets 2, sends 2, 2",
        "backward   x gets 2",
        "backward   w gets 3 + 2 = 5",
        "done: the saved values are freed",
    ]
    assert {"t2", "t3", "t4"} <= found[0].hidden and not found[3].hidden
    assert {"t2", "o0"} == found[1].now
    assert "t4" in found[4].flowed and "t2" not in found[4].flowed
    assert found[5].freed == {"o2"} and not found[4].freed  # y keeps its value
    assert found[9].freed == {"o2"}  # an addition saves nothing


def test_a_frame_is_the_whole_drawing_with_other_attributes():
    picture = drawn()
    source = dot.text_of(picture, dot.DotOptions())
    first = frame_text(source, frames(picture)[0], LIGHT)
    assert len(first.splitlines()) == len(source.splitlines())
    hidden = [line.split()[0] for line in first.splitlines() if line.endswith("style=invis]")]
    assert {"t2", "t3", "t4", "o0", "o1", "o2"} <= set(hidden)
    assert (
        f'COLOR="{LIGHT.background}00"' in first
    )  # a gradient that is not there yet keeps its place


def test_functions_come_in_their_style():
    found = frames(drawn(style="autograd"))
    keys = {n.key for n in model(drawn().trace, "autograd").nodes}
    assert found[-1].hidden == frozenset() and found[-1].flowed == keys


def test_what_happens_within_one_box_is_one_frame():
    text = NOTES.replace(
        "y = a * b", "h = a\nfor i in range(200):\n    h = torch.sin(h * b)\ny = h * b"
    )
    assert len(frames(drawn(text))) < 16


def test_there_are_never_too_many():
    trace = samples.chain(400)
    assert len(frames(model(trace))) == MOST


def test_the_file_has_all_frames_of_one_size_and_the_marks_colour():
    Image = pytest.importorskip("PIL.Image")
    content = animation.render(drawn(), dot.DotOptions(), "gif")
    with Image.open(io.BytesIO(content)) as opened:
        assert opened.n_frames == 10
        opened.seek(4)
        colors = {color for _, color in opened.convert("RGB").getcolors(1 << 20)}
    assert tuple(bytes.fromhex(LIGHT.bad[1:])) in colors and (255, 255, 255) in colors
    assert content == animation.render(drawn(), dot.DotOptions(), "gif")


def test_colours_are_exact():
    """A light grey stays one, and white stays white."""
    Image = pytest.importorskip("PIL.Image")
    first = Image.new("RGB", (40, 20), "#ffffff")
    first.paste("#f7f7f7", (0, 0, 20, 10))
    second = first.copy()
    second.paste("#b00020", (5, 5, 8, 8))
    made = animation.in_one_palette((Image, None, None), [first, second])
    assert [one.convert("RGB").getpixel((19, 9)) for one in made] == [(0xF7,) * 3] * 2
    assert made[1].convert("RGB").getpixel((6, 6)) == (0xB0, 0, 0x20)
    assert made[0].convert("RGB").getpixel((30, 15)) == (255, 255, 255)


def test_more_than_256_colours_become_the_nearest():
    Image = pytest.importorskip("PIL.Image")
    wide = Image.new("RGB", (300, 2), "#ffffff")
    for x in range(300):
        wide.putpixel((x, 0), (x % 256, 0, x // 256))
    (made,) = animation.in_one_palette((Image, None, None), [wide])
    back = made.convert("RGB")
    assert all(
        max(abs(a - b) for a, b in zip(back.getpixel((x, 0)), wide.getpixel((x, 0)), strict=True))
        <= 45
        for x in range(300)
    )
    assert back.getpixel((5, 1)) == (255, 255, 255)


def test_too_much_to_follow_is_refused():
    pytest.importorskip("PIL")
    trace = samples.chain(1000)
    drawn = model(trace, "data", fold(trace, 100))
    with pytest.raises(RenderError, match="2,001 nodes are too many to animate") as caught:
        animation.render(drawn, DotOptions(), "gif")
    assert "--depth N" in caught.value.hint and ".html" in caught.value.hint


# ---- speed, size, films


def shown(trace, suffix, **film):
    drawn = model(trace, "data", fold(trace))
    return render.render(drawn, DotOptions(), suffix, film=render.Film(**film))


def test_speed_and_size():
    pillow = pytest.importorskip("PIL.Image")
    slow = pillow.open(io.BytesIO(shown(samples.notes(), "gif")))
    fast = pillow.open(io.BytesIO(shown(samples.notes(), "gif", speed=4.0, size=(640, 360))))
    assert fast.size == (640, 360) != slow.size and fast.n_frames == slow.n_frames
    assert fast.info["duration"] == slow.info["duration"] // 4
    with pytest.raises(RenderError, match="more than 64x64"):
        shown(samples.notes(), "gif", size=(64, 64))


def test_a_film_needs_ffmpeg(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderError, match="needs ffmpeg"):
        shown(samples.notes(), "mp4")


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_ffmpeg_makes_it():
    film = shown(samples.notes(), "mp4", speed=5.0, size=(321, 201))
    assert film[4:8] == b"ftyp" and len(film) > 1000
