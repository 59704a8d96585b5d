"""Write the man pages of the commands: python docs/make_man.py [--check]

One page for `gradtrace` and one for each command, in docs/man, made of what --help-all says. The wheel installs them in
share/man/man1. --check writes nothing and fails if a page is out of date.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from gradtrace import __version__
from gradtrace.cli.commands import COMMANDS, GROUPS
from gradtrace.cli.group import cli

FOLDER = Path(__file__).parent / "man"
EXIT_STATUS = (
    ("0", "Fine."),
    ("1", "The computation or a check failed."),
    ("2", "Usage, syntax or input was wrong."),
    ("130", "Interrupted."),
    ("141", "The pipe that output went to was closed."),
)


def escape(text: str) -> str:
    """Text for roff: its own signs escaped, and a line's first sign never a request."""
    text = (
        text.replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("^", "\\(ha")
        .replace("~", "\\(ti")
        .replace("`", "\\(ga")
    )
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.splitlines())


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; one that begins with \\b is kept line by line."""
    for block in re.split(r"\n\s*\n", text.strip()):
        yield ".PP"
        if block.startswith("\b"):
            yield f".nf\n{escape(block.lstrip(chr(8)).lstrip(chr(10)))}\n.fi"
        else:
            yield escape(" ".join(block.split()))


def definitions(records: list[tuple[str, str]]) -> Iterator[str]:
    for term, text in records:
        yield f".TP\n\\fB{escape(term)}\\fR\n{escape(' '.join(text.split()))}"


def options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """The options, under the titles that --help-all gives them."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record is not None:
            sections.setdefault(getattr(param, "section", "General"), []).append(record)
    yield ".SH OPTIONS"
    for title, records in sections.items():
        yield f".SS {escape(title)}"
        yield from definitions(records)


def page(name: str, summary: str, body: list[str], also: list[str]) -> str:
    title = name.upper().replace(" ", "-")
    see = ",\n".join(f".BR \\%{escape(other)} (1)" for other in also)
    status = [".SH EXIT STATUS", *definitions(list(EXIT_STATUS))]
    return "\n".join([
        '.\\" Made by docs/make_man.py',
        f'.TH "{escape(title)}" "1" "" "gradtrace {__version__}" "gradtrace"',
        f".SH NAME\n{escape(name.replace(' ', '-'))} \\- {escape(summary.rstrip('.'))}",
        *body,
        *status,
        ".SH SEE ALSO",
        see.replace(",\n.BR", " ,\n.BR"),
        "",
    ])  # fmt: skip


def synopsis(command: click.Command, ctx: click.Context) -> str:
    words = " ".join(command.collect_usage_pieces(ctx))
    return f".SH SYNOPSIS\n\\fB{escape(ctx.command_path)}\\fR {escape(words)}"


def pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    top = click.Context(cli, info_name="gradtrace", **cli.context_settings)
    names = [f"gradtrace-{name}" for name in COMMANDS]
    listed = []
    for title, commands in GROUPS.items():
        listed += [f".SS {title}", *definitions([(name, COMMANDS[name]) for name in commands])]
    body = [
        synopsis(cli, top),
        ".SH DESCRIPTION",
        *paragraphs(cli.help or ""),
        ".SH COMMANDS",
        *listed,
        *options(cli, top),
    ]
    found = {"gradtrace.1": page("gradtrace", cli.help or "", body, names)}
    for name, summary in COMMANDS.items():
        command = cli.get_command(top, name)
        assert command is not None
        ctx = click.Context(command, info_name=name, parent=top)
        body = [synopsis(command, ctx), ".SH DESCRIPTION", *paragraphs(command.help or "")]
        if command.epilog:
            examples = command.epilog.strip().removeprefix("Examples:\n")
            body += [".SH EXAMPLES", f".nf\n{escape(examples)}\n.fi"]
        body += options(command, ctx)
        found[f"gradtrace-{name}.1"] = page(f"gradtrace {name}", summary, body, ["gradtrace"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    found = pages()
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.1")}
    if check and kept != found:
        stale = sorted(name for name in {*kept, *found} if kept.get(name) != found.get(name))
        sys.exit(f"out of date: {', '.join(stale)}; run: python docs/make_man.py")
    if check:
        return
    FOLDER.mkdir(exist_ok=True)
    for name in kept.keys() - found.keys():
        (FOLDER / name).unlink()
    for name, text in found.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
