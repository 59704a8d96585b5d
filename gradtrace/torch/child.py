"""Run a script under a recorder and write its record. This is a process with the Python that the
user named:

    python child.py REQUEST.json

That Python needs torch, not gradtrace: the package is loaded from the folder of this file, and
nothing else there becomes importable. The script has the same environment as under `python SCRIPT`:
its arguments, its folder on sys.path, the name "__main__"; its errors are printed and its exit code
is returned in the same way. `cli/torch_request.py` has the fields of the request and of the status
that this process writes.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def load(name: str, *path: str, **settings: Any) -> Any:
    """Load a file of the package as a module of this name, without making what is beside it
    importable.
    """
    spec = importlib.util.spec_from_file_location(name, os.path.join(PACKAGE, *path), **settings)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_package() -> None:
    """Make `gradtrace` importable from the folder of this file, without the other packages
    there.
    """
    load("gradtrace", "__init__.py", submodule_search_locations=[PACKAGE])


def main(path: str) -> int:
    """Do what a request asks, and write its status."""
    requests = load("gradtrace_torch_request", "cli", "torch_request.py")
    del sys.modules["gradtrace_torch_request"]
    request = requests.read(path, requests.ScriptRequest)
    status = requests.ScriptStatus()
    try:
        if request.level == "replay":
            sys.path[0] = os.getcwd()
            return replayed(request, status)
        sys.path[0] = os.path.dirname(os.path.abspath(request.script))
        if request.level == "model":
            return probed(request, status)
        sys.argv = [request.script, *request.arguments]
        return run(request.script) if request.level == "none" else recorded(request, status)
    finally:
        requests.write(request.status, status)


def recorded(request: Any, status: Any) -> int:
    """Run the script under a recorder; the facts that the command line needs are written to
    `status`.
    """
    if not has_torch(status):
        return 0
    load_package()
    from gradtrace.torch import recording

    recorder = recording.record(request.level)
    recorder._main = os.path.abspath(request.script)
    module = as_main(request.script)
    recorder._env = module.__dict__
    code = 0
    try:
        with recorder, RareCollections():
            execute(request.script, module)
    except SystemExit as end:
        code = exit_code(end)
    except KeyboardInterrupt:
        status.interrupted = True
        code = 130
    except BaseException as error:
        show(error)
        code = 1
    from gradtrace.trace.file import uncollected

    try:
        content = uncollected(lambda: recording.file_content(recorder._checked()))
    except Exception as error:
        status.fault = f"{type(error).__name__}: {error}"
        if os.environ.get("GRADTRACE_DEBUG"):
            raise
        return code
    with open(request.record, "wb") as file:
        file.write(content)
    return code


class RareCollections:
    """Context manager in which a full collection of cycles waits until there are twice as many
    objects as after the last one.

    A record grows by millions of objects. Python collects again when there are a quarter more,
    which walks the record again and again: a quarter of the time of a long loop of small steps.
    A program that sets thresholds itself has its own.
    """

    def __enter__(self) -> None:
        self.former = self.thresholds = gc.get_threshold()
        gc.callbacks.append(self.after)

    def __exit__(self, *error: object) -> None:
        gc.callbacks.remove(self.after)
        if gc.get_threshold() == self.thresholds:
            gc.set_threshold(*self.former)

    def after(self, phase: str, facts: dict[str, int]) -> None:
        if phase == "stop" and facts["generation"] == 2 and gc.get_threshold() == self.thresholds:
            youngest, middle, oldest = self.thresholds
            rounds = len(gc.get_objects(2)) // max(1, youngest * middle)
            self.thresholds = youngest, middle, max(oldest, rounds)
            gc.set_threshold(*self.thresholds)


def has_torch(status: Any) -> bool:
    """Whether this Python has a PyTorch that can be recorded; else `status` says what is wrong."""
    try:
        import torch
    except ImportError as error:
        status.missing = str(error)
        return False
    status.version = str(torch.__version__)
    status.old = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (
        2,
        4,
    )
    return not status.old


def replayed(request: Any, status: Any) -> int:
    """Run the step of a capsule again, and write its record; the answer goes to `status`."""
    if not has_torch(status):
        return 0
    load_package()
    from gradtrace.errors import UsageError
    from gradtrace.torch import recording
    from gradtrace.torch.replay import named, replay

    try:
        step = named(request.step, "--step-function") if request.step else None
        model = named(request.model, "--model") if request.model else None
        outcome = replay(request.script, step, model)
    except UsageError as error:
        status.refused = [error.message, error.hint]
        return 2
    except BaseException as error:
        show(error)
        return 1
    status.answer = outcome.text()
    status.same = outcome.same_loss is not False and outcome.same_gradients
    status.facts = {name: getattr(outcome, name) for name in outcome._fields if name != "recorded"}
    with open(request.record, "wb") as file:
        file.write(recording.file_content(outcome.recorded.trace()))
    return 0


def probed(request: Any, status: Any) -> int:
    """Run the script up to its first backward; what the probes say of its model goes to
    `status`.
    """
    if not has_torch(status):
        return 0
    load_package()
    import torch

    from gradtrace.errors import UsageError
    from gradtrace.torch.first_step import TorchFirstStep

    del sys.argv[1]  # the number of steps
    with TorchFirstStep(torch, int(request.arguments[0])) as step:
        code = run(request.script)
    try:
        status.facts = {"probes": step.result().probes}
    except UsageError as error:
        status.refused = [error.message, error.hint]
    return code


def run(script: str) -> int:
    """Run the script without a recorder."""
    try:
        execute(script, as_main(script))
    except SystemExit as end:
        return exit_code(end)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        show(error)
        return 1
    return 0


def as_main(script: str) -> ModuleType:
    """Return the module `__main__` that the script runs in."""
    module = ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    return module


def execute(script: str, module: ModuleType) -> None:
    import io

    with io.open_code(os.path.abspath(script)) as file:
        text = file.read()
    exec(compile(text, os.path.abspath(script), "exec", dont_inherit=True), module.__dict__)


def exit_code(end: SystemExit) -> int:
    """Convert the argument of sys.exit to an exit code, as Python does."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def show(error: BaseException) -> None:
    """Print the traceback as Python does, without the frames of this file and of the package."""
    import traceback

    told = traceback.TracebackException.from_exception(error)
    link: Any = told
    while link is not None:
        link.stack[:] = [
            frame
            for frame in link.stack
            if not frame.filename.startswith(os.path.join(PACKAGE, ""))
        ]
        link = link.__cause__ or link.__context__
    sys.stdout.flush()
    print("".join(told.format()), end="", file=sys.stderr)


def end_quietly(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Print no traceback of Ctrl-C outside of the script; the parent says that it was
    interrupted.
    """
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, error, trace)


if __name__ == "__main__":
    sys.excepthook = end_quietly
    code = main(sys.argv[1])
    sys.excepthook = sys.__excepthook__
    try:
        sys.stdout.flush()
    finally:
        sys.exit(code)
