"""What a program finds around it: its namespace as the module `__main__`, its arguments, and what
it can import.
"""

from __future__ import annotations

import contextlib
import linecache
import sys

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.program import modules
from gradtrace.program.own_modules import OwnModules, with_modules

if TYPE_CHECKING:
    from gradtrace.program.run import Execution

MAIN = "__main__"


class Surroundings:
    """A context for the execution of a program."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> None:
        execution = self.execution
        program = execution.program
        budget = execution.clock.budget
        if program.modules is None and budget.allow_import:
            program = with_modules(program, budget)
        name = program.source.name
        execution.names.update(__builtins__=execution.builtins, __file__=name)
        self.before = sys.modules.get(MAIN), sys.argv, list(sys.path)
        sys.modules[MAIN] = execution.module
        sys.argv = [name, *budget.arguments]
        if budget.allow_import:
            # last: a file there must not replace a module of Python
            sys.path.append(budget.allow_import)
        for source in (
            program.source,
            *(module.source for module in (program.modules or {}).values()),
        ):
            linecache.cache[source.name] = (
                len(source.text),
                None,
                source.text.splitlines(True),
                source.name,
            )
        self.stack.enter_context(OwnModules(program.modules or {}, execution.execute_module))
        self.stack.enter_context(modules.installed(self.tell))

    def __exit__(self, *error: Any) -> None:
        self.stack.__exit__(*error)
        main, sys.argv, sys.path[:] = self.before
        if main is not None:
            sys.modules[MAIN] = main

    def tell(self, text: str) -> None:
        """Print a note about the program to stderr."""
        print(f"{self.execution.program.source.name}: {text}", file=sys.stderr)
