"""Functions of expressions without imports: torch's functions by their bare names, for tensors and numbers."""

from __future__ import annotations

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.engine.tensor import Tensor
from gradtrace.lang.names import CONSTANTS, MATHEMATICS, MODULES

# Functions whose arguments stay numbers instead of being converted to tensors.
MAKERS = frozenset(
    {
        "arange",
        "eye",
        "full",
        "linspace",
        "ones",
        "ones_like",
        "pow",
        "rand",
        "randn",
        "tensor",
        "where",
        "zeros",
        "zeros_like",
    }
)


def find_mathematics(name: str, builtins: dict[str, Any], machine: Any) -> Any:
    """Return the value of a name that the program does not bind; raise KeyError for an unknown name."""
    if name in MATHEMATICS:
        return function_of_torch(name, builtins.get(name))
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
        if not args or isinstance(args[0], Tensor):
            return function(*args, **kwargs)
        if builtin is not None and not any(isinstance(a, Tensor) for a in args):
            return builtin(*args, **kwargs)
        if isinstance(args[0], (int, float)) and name not in MAKERS:
            return function(Tensor._wrap(float(args[0])), *args[1:], **kwargs)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call
