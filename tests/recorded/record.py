"""Write what PyTorch 2.13 prints for each program: python -m tests.recorded.record [SUBJECT[/NAME]...]

Each file runs in a fork of this process, which has loaded PyTorch: in an empty folder, without warnings, with
matplotlib's Agg. The changes of each answer are printed. `--show` prints the answers as they are, and runs nothing.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
import types
import zipfile
from pathlib import Path

from tests.recorded.programs import HEADING, HERE, SUBJECTS, answers, in_file, paths, printed

# TensorFlow's, not PyTorch's
ELSEWHERE = {"note_2_cell_6_tf1_static", "note_4_static_while_loop_tf1"}
FIRST_DAY = (1980, 1, 1, 0, 0, 0)


def chosen(names: list[str]) -> dict[str, list[Path]]:
    """The files that the arguments name, by subject. ValueError for a name that is not there."""
    every = {subject: paths(subject) for subject in SUBJECTS}
    known = {
        f"{subject}/{path.stem}": [path] for subject in every for path in every[subject]
    } | every
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"no such program or subject: {', '.join(missing)}")
    files = [path for name in names or every for path in known[name]]
    return {subject: [path for path in files if path.parent.name == subject] for subject in every}


def answer_of(path: Path) -> str:
    """What the programs of one file print, as it is stored."""
    texts = []
    for program in in_file(path):
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        text = printed(program, names=vars(module))
        texts.append(f"{HEADING}{program.title}\n{text}\n" if program.title else text)
    return "".join(texts)


def answer_in_fork(path: Path) -> str | None:
    """The answer of a file, from a fork; None if its program failed, which then stands on stderr."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
    ):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.chdir(folder)
                sys.argv = [str(path)]
                out.write(answer_of(path))
                out.flush()
                status = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            return None
        out.seek(0)
        return out.read()


def store(subject: str, texts: dict[str, str]) -> None:
    """Write the answers of a subject that have changed; the same answers give the same bytes."""
    folder = HERE / subject
    if not SUBJECTS[subject].packed:
        for name, text in texts.items():
            (folder / f"{name}.out").write_text(text, encoding="utf-8")
        return
    merged = {**answers(subject), **texts}
    with zipfile.ZipFile(folder / "answers.zip", "w") as file:
        for path in paths(subject):
            if path.stem in merged:
                entry = zipfile.ZipInfo(f"{path.stem}.out", FIRST_DAY)
                file.writestr(entry, merged[path.stem], zipfile.ZIP_DEFLATED, 9)


def record(subject: str, files: list[Path]) -> list[Path]:
    """Write the answers of files of one subject. Returns those whose program failed."""
    changed, failed = {}, []
    for path in files:
        text = answer_in_fork(path)
        old = answers(subject).get(path.stem, "")
        if text is None:
            failed.append(path)
        elif text != old or path.stem not in answers(subject):
            changed[path.stem] = text
            name = f"{subject}/{path.stem}"
            print(
                *difflib.unified_diff(
                    old.splitlines(), text.splitlines(), name, name, n=1, lineterm=""
                ),
                sep="\n",
            )
    if changed:
        store(subject, changed)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.recorded.record", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "names", nargs="*", metavar="SUBJECT[/NAME]", help="what to record (default: all)"
    )
    parser.add_argument("--show", action="store_true", help="print the stored answers instead")
    options = parser.parse_args()
    try:
        files = chosen(options.names)
    except ValueError as error:
        parser.error(str(error))
    if options.show:
        print(
            *(answers(subject)[path.stem] for subject in files for path in files[subject]),
            sep="\n",
            end="",
        )
        return 0
    os.environ["MPLBACKEND"] = "Agg"
    import torch

    torch.set_num_threads(1)
    failed = []
    for subject, paths_of_it in files.items():
        failed += record(subject, [path for path in paths_of_it if path.stem not in ELSEWHERE])
    for path in failed:
        print(f"{path.parent.name}/{path.stem} failed; its answer is as before", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
