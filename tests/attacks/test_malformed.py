"""Malformed input, each case a process: one message of one form, the exit code as promised, no traceback."""

import re

import malformed
import pytest

FORM = re.compile(
    r"^(?:[^\s:][^:]*:\d+:\d+: |[^\s:][^:]*: ).+"
)  # file:line:column: what, or gradtrace COMMAND: what
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CASES = [
    *(
        (f"program, {name}", ["run", "p.py"], {"p.py": text}, code, part)
        for name, (text, code, part) in malformed.PROGRAMS.items()
    ),
    *(
        (f"value, {name}", ["eval", "x*2", f"--x={text}"], malformed.BESIDE, code, part)
        for name, (text, code, part) in malformed.VALUES.items()
    ),
    *(
        (f"file, {name}", ["eval", "x*2", "--x", f"@{name}"], {name: content}, 2, part)
        for name, (content, part) in malformed.FILES.items()
    ),
    *(
        (f"command, {name}", args, malformed.BESIDE, code, part)
        for name, (args, code, part) in malformed.COMMANDS.items()
    ),
]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name, args, files, code, part", CASES, ids=[case[0] for case in CASES])
def test_one_message(name, args, files, code, part, yard):
    for file, content in files.items():
        (yard.folder / file).write_bytes(content)
    for folder in malformed.FOLDERS:
        (yard.folder / folder).mkdir(exist_ok=True)
    done = yard.run(*args, text="", seconds=60)
    assert done.returncode == code, done
    if code == 0:
        return
    lines = done.stderr.splitlines()
    assert part in done.stderr and FORM.match(lines[0]), done.stderr[:1000]
    assert not CONTROL.search(done.stderr), done.stderr[:1000]
    assert max(map(len, lines[1:]), default=0) < 5000 and len(done.stderr) < 20_000, done.stderr[
        :1000
    ]
