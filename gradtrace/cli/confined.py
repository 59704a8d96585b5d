"""The child's side of `broker.confine`: give up the rights, and use the broker from now on."""

from __future__ import annotations

import sys
import time

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import broker, main
from gradtrace.cli.grants import FIXED
from gradtrace.errors import UsageError
from gradtrace.sandbox import channel, confine, kernel, scratch
from gradtrace.sandbox.kernel import Rights

if TYPE_CHECKING:
    from gradtrace.cli.grants import Grants


def begin(
    grants: Grants, pipe: channel.Channel, parent: int, args: list[str], temporary: str = ""
) -> None:
    """Confine this process, a child of `parent`, to the grants and the folder for temporary files.
    UsageError if --require-wall asks for more.
    """
    handle_signals()
    kernel.end_with(parent)
    channel.state.channel = pipe
    channel.state.outputs = tuple(name for name, _ in grants.outputs)
    file = scratch.descriptor()
    if grants.seconds is not None:
        from gradtrace.program.budget import process_end

        process_end.at = time.monotonic() + grants.seconds
    seconds = None if grants.seconds is None else broker.cpu_seconds(grants.seconds)
    whole = max(grants.process, FIXED) if grants.process else None
    limits = confine.Limits(
        grants.most_memory if grants.memory else None, whole, grants.largest_file or None, seconds
    )
    write = (grants.write,) if grants.write else ()
    rights = Rights(grants.read, write, temporary=(temporary,) if temporary else ())
    walls = confine.confine(rights, limits, [pipe.incoming, pipe.outgoing, file])
    if temporary:
        scratch.use_folder(temporary)
    check_walls(walls, grants, args)


def handle_signals() -> None:
    """End at once by the signals that end the parent. Take one Ctrl-C as one: the terminal sends it
    to both processes, and the parent passes its own on.
    """
    import _signal  # type: ignore[import-not-found]  # signal itself loads enum
    import _thread

    for number in main.ENDING:  # the parent tidies up, and a program cannot catch them
        if _signal.getsignal(number) is main.end_by:  # nohup has SIGHUP ignored
            _signal.signal(number, _signal.SIG_DFL)
    if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        return
    last = 0.0

    def interrupted(number: int, frame: Any) -> None:
        nonlocal last
        now = time.monotonic()
        before = last
        last = now
        if now - before > 0.3:
            raise KeyboardInterrupt

    def interrupt_again() -> None:
        nonlocal last
        time.sleep(0.01)
        last = 0.0
        _thread.interrupt_main()

    def report_ignored(ignored: Any) -> None:
        """Raise Ctrl-C again where Python ignores exceptions: in callbacks and destructors. A
        thread does it, for what is raised in here is ignored too.
        """
        if ignored.exc_type is KeyboardInterrupt:
            _thread.start_new_thread(interrupt_again, ())
        else:
            sys.__unraisablehook__(ignored)

    _signal.signal(_signal.SIGINT, interrupted)
    sys.unraisablehook = report_ignored


def check_walls(walls: kernel.Walls, grants: Grants, args: list[str]) -> None:
    """Say once if the kernel does not confine a stranger's program here; UsageError with
    --require-wall.
    """
    if walls.stands:
        return
    if walls.landlock:
        missing = "seccomp"
    else:
        missing = "Landlock" if walls.seccomp else "Landlock and seccomp"
    message = f"the kernel does not confine programs here: it has no {missing}"
    if broker.requires_wall(args):
        raise UsageError(
            message,
            "gradtrace doctor shows how this machine confines programs; leave out --require-wall",
        )
    if not grants.own_text:
        from gradtrace.cli import report

        report.write(f"gradtrace: {message}; it runs as under python (--require-wall refuses)")
