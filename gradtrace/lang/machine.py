"""Assemble the Machine of a run: gate, strings, built-ins, modules, and names that the program does not bind."""

from __future__ import annotations

from gradtrace import ops  # noqa: F401

# `ops` adds the operators to tensors; the others register their compilers
from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import calls, comprehensions, control, functions, hash_cost, matching  # noqa: F401
from gradtrace.lang.attributes import Gate, Special
from gradtrace.lang.budget import Meter
from gradtrace.lang.builtins import Streams, builtins
from gradtrace.lang.known_classes import ByClass
from gradtrace.lang.metered_builtins import formatting_dates
from gradtrace.lang.operators import operators_by_name
from gradtrace.lang.parse import Program
from gradtrace.lang.strings import Strings
from gradtrace.lang.unit import Frame, Machine
from gradtrace.lang.words import words
from gradtrace.program import syntax as ast
from gradtrace.program.source import Span


def make_machine(
    program: Program, meter: Meter, env: Frame, stdout: Any, stderr: Any, host: Any = None, drawings: Any = None
) -> Machine:
    """Return the state shared by all scopes of one run."""
    strings = Strings(meter)
    gate = Gate({**special_attributes(strings), **hash_cost.charging_methods(meter)}, late_methods(meter))
    strings.read = gate.get
    streams = Streams(stdout, stderr, meter)
    builtin_names = builtins(gate, meter, strings, streams, program.source.name, env)

    def modules(spans: list[Span]) -> Any:
        from gradtrace.lang.namespaces import Modules
        from gradtrace.lang.python_modules import Python

        def where() -> tuple[str, int]:
            return program.source.name, spans[state.origin].line or 1

        def function() -> str:
            line = where()[1]
            all_of_them = [node for node in ast.walk(program.tree) if isinstance(node, ast.FunctionDef)]
            around = [node.name for node in all_of_them if node.lineno <= line <= (node.end_lineno or 0)]
            return around[-1] if around else "<module>"

        def host_module(module: str) -> dict[str, Any]:
            from gradtrace.lang import hosted

            tell, say = streams.stderr.write, streams.stdout.write
            return hosted.module_names(module, host, hosted.Hosting(program, spans, meter, say, tell))

        operators = operators_by_name(meter, strings)
        return Modules(Python(gate, meter, streams, strings, operators, where, function, host_module, drawings))

    def find_name(name: str, machine: Machine) -> Any:
        if machine.imports_torch:
            return builtin_names[name]
        from gradtrace.lang.mathematics import find_mathematics

        return find_mathematics(name, builtin_names, machine)

    return Machine(program, meter, gate, strings, env, find_name, modules)


def special_attributes(strings: Strings) -> Special:
    """Return the attributes whose value in programs differs from Python's."""

    def numpy(tensor: Tensor) -> Any:
        from gradtrace.lang.arrays import Array

        return lambda **how: Array(tensor.numpy(**how))

    return {**strings.special(), (Tensor, "numpy"): numpy}


def searching_methods(meter: Meter, kinds: tuple[type, ...]) -> Special:
    from gradtrace.lang.regular_expressions import charging_methods

    return charging_methods(meter)


# The functions that make the charged methods of classes whose modules may not be imported yet.
LATE = ByClass(
    {
        **dict.fromkeys(
            words("collections:Counter collections:OrderedDict collections:defaultdict collections:deque"),
            hash_cost.charging_methods,
        ),
        **dict.fromkeys(words("datetime:date datetime:datetime datetime:time"), formatting_dates),
        **dict.fromkeys(words("re:Match re:Pattern"), searching_methods),
    }
)


def late_methods(meter: Meter) -> Callable[[type], Special]:
    """Return the function that returns the charged methods of a class which the gate sees for the first time."""

    def find(kind: type) -> Special:
        make = LATE.get(kind)
        return {} if make is None else make(meter, (kind,))

    return find
