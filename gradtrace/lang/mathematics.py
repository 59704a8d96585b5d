"""Functions of expressions without imports: torch's functions by their bare names, for tensors and numbers."""

from __future__ import annotations

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang.library import admitted, for_program
from gradtrace.lang.names import CONSTANTS, MATHEMATICS, MODULES
from gradtrace.lang.takers import takes_objects
from gradtrace.lang.values import named
from gradtrace.lang.words import Names, words

# Functions whose arguments stay numbers instead of being converted to tensors.
MAKERS = words("arange eye full linspace ones ones_like pow rand randn tensor where zeros zeros_like")


def find_mathematics(name: str, builtins: Names, machine: Any) -> Any:
    """Return the value of a name that the program does not bind; raise KeyError for an unknown name."""
    if name in MATHEMATICS:
        return for_program(function_of_torch(name, builtins.get(name)))
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in builtins:
        return builtins[name]
    from gradtrace.lang.namespaces import namespace

    return namespace(MODULES[name], machine.modules)


def function_of_torch(name: str, builtin: Any) -> Any:
    """Return torch's function of this name; calls without tensors use Python's `builtin` (abs, max), if any."""
    function = ops.find(ops.api.functions, name) or ops.find(ops.api.functional, name)
    if function is None:
        raise KeyError(name)
    if name in MAKERS and builtin is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        if not args or type(args[0]) is Tensor:
            return function(*args, **kwargs)
        if type(args[0]) in (int, float, bool) and name not in MAKERS:
            return function(Tensor._wrap(float(args[0])), *args[1:], **kwargs)
        return function(*args, **kwargs)

    def call_or_builtin(*args: Any, **kwargs: Any) -> Any:
        if args and not any(issubclass(type(a), Tensor) for a in args):
            return builtin(*args, **kwargs)
        given, named = admitted(function, args, kwargs)
        return function(*given, **named)

    made = call if builtin is None else takes_objects(call_or_builtin)
    return named(made, name)
