"""Programs that read files through --allow-read, beside links, a pipe and a file that they may not read.

An input is a program and the content of the file that it is about. Nothing that lies outside the folder may be told.
"""

from __future__ import annotations

import base64
import io
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

from gradtrace.errors import GradtraceError
from gradtrace.lang.words import words
from tests.attacks.canaries import SECRET
from tests.fuzz import mutate

# data.pkl of torch.save({"w": torch.ones(2, 3), "b": [1, 2.5, "x"], "h": torch.arange(4).half()}) of PyTorch 2.13
PICKLE = zlib.decompress(
    base64.b85decode(
        b"c-lRV%}&EG5QOa{q+tHb{~Lr$1v~)<1V}zqgi9_cN*#kESvBKq3Kt|Ut<<+Bbw&5GtI_Pt_Z$6yWd&!9eSs@-UYSwZQDa+CdOhhH"
        b"TbHD#t@GvVP9Vy%V$hr0-dTNU#OoLFXkA6GYf&Hxfj8JH;(n{o4yjBDgBQtUB;y6PWi0suJ4>aUwOUc*rmYzJT6<kTG>Qbob&g%a"
        b"UXJ~cHo?Ig4l~K0?h_U!$lo~9;V?KhJ)QX{damsI251;8w>UAWObDkdkYtWC$>%s<npM{Y;WEcnH~Ith%SuH"
    )
)
TEXTS = [
    b"x,y\n1,2\n3,4\n",
    b'"a b";1\n',
    b"1 2 3\n4 5 6\n",
    b'{"x": [1, 2.5, null, "a"]}',
    b"[" * 40,
    b"\xef\xbb\xbf1\r\n",
    b"1e400,nan,-inf,0x1p3,1_0\n",
    b"\xff\xfea\0",
]
NAMES = (
    sorted(
        words("""t.txt nothing link up/secret.txt pipe . .. ../secret.txt /etc/passwd sub sub/t.txt sub/made.txt
    sub/../data.bin //data.bin data.bin/ ./data.bin \0 * ** sub/* ../*""")
    )
    + ["data.bin"] * 20
)
CALLS = """open(P).read()|open(P).read(3)|open(P).readlines()|[l for l in open(P)]|open(P, 'rb').read()
open(P, M).read()|open(P, encoding=E).read()|open(P, errors='replace').readline()|open(P, M).write('a')
open(P, newline='').seek(2)|list(csv.reader(open(P)))|list(csv.DictReader(open(P), delimiter=D))
list(csv.reader(open(P), D, quotechar=D))
next(csv.reader(open(P)))|json.load(open(P))|json.loads(open(P).read())|np.load(P)|np.load(P)['x']|np.load(P).files
np.load(P, allow_pickle=True)|np.loadtxt(P)|np.loadtxt(P, delimiter=D, skiprows=N)|np.loadtxt(P, usecols=(N,), dtype=T)
np.genfromtxt(P, delimiter=D, names=True)|np.genfromtxt(P, skip_header=N, filling_values=N)|np.fromfile(P)
torch.load(P)|torch.load(P)['w']|torch.load(P, weights_only=False)|torch.load(P, map_location=D)
os.listdir(P)|os.path.exists(P)|os.path.getsize(P)|os.path.isdir(P)|os.path.realpath(P)|os.remove(P)|os.makedirs(P)|os.stat(P)|glob.glob(P)
glob.glob(P, recursive=True)|glob.iglob(P)|Path(P).read_text()|Path(P).exists()|list(Path(P).iterdir())
list(Path(P).glob(P))|list(Path(P).rglob('*'))|Path(P).open().read()|Path(P) / P|Path(P).write_text('b')|Path(P).parent
Path(P).resolve()|np.save(P, np.ones(2))|np.savetxt(P, np.ones(2), fmt=D)|torch.save(torch.ones(2), P)|shutil.copy(P, P)
open(0).read()|open(3).read()|open(Path(P)).read()|open(r).read()|np.load(r)|r.seek(N)|r.read()|r.close()|r.name"""
CALL = CALLS.replace("\n", "|").split("|")
WITH = {
    "M": ("'r'", "'rb'", "'w'", "'a'", "'x'", "'r+'", "'U'", "'rt'", "''", "1", "'wb'"),
    "E": ("'utf-8'", "'latin-1'", "'ascii'", "'utf-16'", "'utf-7'", "'idna'", "None", "'rot13'"),
    "D": ("','", "';'", "' '", r"'\t'", "''", "None", "'ab'", "1", "'é'", r"'\n'"),
    "N": ("0", "1", "-1", "10**9", "None", "'a'"),
    "T": ("float", "int", "str", "object", "'U3'", "'f4'", "[('a', int)]", "bool"),
}
START = """import csv, glob, json, os
from pathlib import Path
import numpy as np
import torch
r = None
"""


def make(rng: Random) -> tuple[str, bytes]:
    """Return a program and a file's content."""
    lines = []
    for _ in range(rng.randint(1, 5)):
        call = rng.choice(CALL)
        parts = [part(rng, c) if c in "PMEDNT" and not in_word(call, i) else c for i, c in enumerate(call)]
        use = rng.choice(("r = {}", "print({})", "for i in {}: print(i)", "with {} as r: print(r)"))
        lines += [f"try:\n    {use.format(''.join(parts))}", "except Exception as e: print(e)"]
    text = START + "\n".join(lines)
    return (mutate.text(rng, [text], CALL, 3000) if rng.random() < 0.1 else text), rng.choice(CONTENTS)(rng)


def in_word(call: str, at: int) -> bool:
    return any(c.isalpha() for c in call[max(at - 1, 0) : at] + call[at + 1 : at + 2])


def part(rng: Random, kind: str) -> str:
    return repr(name(rng)) if kind == "P" else rng.choice(WITH[kind])


def name(rng: Random) -> str:
    found = rng.choice(NAMES)
    if rng.random() < 0.1:
        found = "/".join((found, rng.choice(NAMES)))
    below = rng.random() < 0.9 and not found.startswith("/")
    return f"{yard()}/{found}" if below else found


def text_file(rng: Random) -> bytes:
    return mutate.data(rng, TEXTS) if rng.random() < 0.7 else rng.choice(TEXTS)


def array_file(rng: Random) -> bytes:
    from tests.fuzz.targets import arrays

    return mutate.data(rng, arrays()[rng.randrange(2)])


def checkpoint(rng: Random) -> bytes:
    """Return a file of torch.save with a changed pickle, or one that is cut."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", mutate.data(rng, [PICKLE]) if rng.random() < 0.8 else PICKLE)
        archive.writestr("archive/byteorder", "little")
        for key, size in enumerate((24, 8)):
            archive.writestr(f"archive/data/{key}", bytes(rng.choice((size, size, 0, 1, 1000))))
    return out.getvalue() if rng.random() < 0.9 else mutate.data(rng, [out.getvalue()])


CONTENTS: tuple[Callable[[Random], bytes], ...] = (text_file, array_file, checkpoint)


@cache
def whole() -> tempfile.TemporaryDirectory[str]:
    """Return a folder with a secret file and the folder that programs may read; it goes when this process ends."""
    made = tempfile.TemporaryDirectory()
    secret = Path(made.name).resolve() / "secret.txt"
    secret.write_text(SECRET)
    inside = secret.parent / "yard"
    inside.mkdir()
    (inside / "t.txt").write_text("1 2\n")
    (inside / "link").symlink_to(secret)
    (inside / "up").symlink_to("..")
    os.mkfifo(inside / "pipe")
    return made


def yard() -> Path:
    return Path(whole().name).resolve() / "yard"


def run(made: tuple[str, bytes]) -> None:
    """Run a program that may read the folder and write into a folder of it."""
    from gradtrace import lang
    from tests.fuzz.doors import INNER
    from tests.fuzz.targets import TINY

    text, content = made
    folder = yard()
    shutil.rmtree(folder / "sub", ignore_errors=True)
    (folder / "sub").mkdir()
    (folder / "sub/t.txt").write_text("1,2\n")
    (folder / "data.bin").write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    with suppress(GradtraceError, SystemExit):
        program = lang.parse(text)
        budget = TINY._replace(allow_read=(str(folder),), allow_write=str(folder / "sub"), seconds=1.0)
        lang.run(program, {}, budget=budget, stdout=out, stderr=err)
    printed = out.getvalue() + err.getvalue()
    assert SECRET not in printed
    assert sorted(os.listdir(folder)) == ["data.bin", "link", "pipe", "sub", "t.txt", "up"]
    assert sorted(os.listdir(folder.parent)) == ["secret.txt", "yard"]
    assert (folder.parent / "secret.txt").read_text() == SECRET
    assert (folder / "data.bin").read_bytes() == content
    assert not [word for word in INNER if word in printed and word not in text], printed[-2000:]
