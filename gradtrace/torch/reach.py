"""What a training step can reach: the variables that its code names, and what they hold."""

from __future__ import annotations

import copy
import dis
import functools
import inspect
import io
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from gradtrace.torch.places import is_hidden, is_installed

FEW = 64  # entries of a list or dict that is copied before each step
MANY = 10_000  # entries of a list or dict that is looked through
PLAIN: Any = frozenset((list, dict, set, deque, defaultdict, OrderedDict, Counter))
COPYABLE: Any = frozenset(
    (type(iter([])), type(iter(())), type(iter(range(0))), type(reversed([])))
)
NOTHING = object()


class Reach:
    """The variables that a step's functions name. `env` has all that it can see, by name; so this
    object is not kept from one step to the next, as it would keep a batch alive.
    """

    def __init__(self, step: Any, args: Any, kwargs: Any) -> None:
        function, owner, arguments = function_of(step, args)
        self.env = environment(function, arguments, kwargs)
        if owner is not None:
            self.env["self"] = owner
        self.file = program_file(function)
        functions = functions_from(function, self.env.get("self"))
        self.names = {name for callee in functions for name in names_in(callee.__code__)} | {
            "self",
            *kwargs,
        }
        self.names |= (
            set(function.__code__.co_varnames[: len(arguments)]) if function is not None else set()
        )
        # an argument is another object at the next call
        passing = {id(argument) for argument in (*args, *kwargs.values())}
        self.passing = passing - {id(self.env.get("self"))}
        kept = [instance for _, instance in self.objects() if id(instance) not in self.passing]
        self.holders = holders_of(functions, self.names, kept)
        merged = {id(holder): (holder, keys) for holder, keys in self.holders}
        for holder, keys in self.stored_in_modules():
            merged[id(holder)] = holder, sorted({*keys, *merged.get(id(holder), (holder, []))[1]})
        self.holders = list(merged.values())

    def objects(self) -> list[tuple[str, Any]]:
        """Return the objects that the step names, and in these, whose attributes may be part of its
        state.
        """
        instances: dict[int, tuple[str, Any]] = {}
        waiting = [(name, variable) for name, variable in self.env.items() if name in self.names]
        for name, instance in waiting:
            if is_object(instance) and id(instance) not in instances:
                instances[id(instance)] = name, instance
                waiting += [
                    (f"{name}.{key}", value)
                    for key, value in vars(instance).items()
                    if key in self.names
                ]
        return list(instances.values())

    def stored_in_modules(self) -> Iterator[tuple[Any, list[str]]]:
        """Yield the attributes of modules that their own forward passes read and assign, such as a
        counter of calls.
        """
        for module in {
            id(submodule): submodule
            for m in self.of_type(torch.nn.Module)
            for submodule in m.modules()
        }.values():
            kind: Any = type(module)
            if keys := stored_by(kind):
                yield vars(module), keys

    def values(self) -> Iterator[tuple[str, Any]]:
        """Return all that the step can see by an expression: variables, attributes of objects,
        elements of both.
        """
        attributes = [
            (f"{name}.{key}", attribute)
            for name, owner in self.objects()
            for key, attribute in vars(owner).items()
        ]
        for name, value in [*self.env.items(), *attributes]:
            yield name, value
            if isinstance(value, (list, tuple)) and len(value) <= MANY:
                yield from ((f"{name}[{index}]", element) for index, element in enumerate(value))
            elif (
                type(value) is dict
                and len(value) <= MANY
                and value is not self.env.get("__builtins__")
            ):
                yield from ((f"{name}[{key!r}]", element) for key, element in list(value.items()))

    def is_named(self, name: str) -> bool:
        """Whether the step's code names the variable that a name of `values` or `parameters` begins
        with.
        """
        return re.split(r"[.\[]", name.rpartition(" of ")[2])[0] in self.names

    def of_type(self, kind: Any) -> list[Any]:
        return list(
            {
                id(variable): variable
                for _, variable in self.values()
                if isinstance(variable, kind)
            }.values()
        )

    def leaves(self) -> list[Any]:
        """Return the tensors that are trained, in modules, in optimisers and plain ones, but
        arguments; each once.
        """
        tensors = {id(parameter): parameter for _, parameter in self.parameters()}
        return [tensor for key, tensor in tensors.items() if key not in self.passing]

    def parameters(self) -> Iterator[tuple[str, Any]]:
        values = list(self.values())
        for name, variable in values:
            if isinstance(variable, torch.nn.Module):
                yield from ((f"{name}.{path}", p) for path, p in variable.named_parameters())
        for name, variable in values:
            if isinstance(variable, torch.Tensor) and variable.requires_grad and variable.is_leaf:
                yield name, variable
            elif isinstance(variable, torch.optim.Optimizer):
                held = [p for group in variable.param_groups for p in group["params"]]
                yield from ((f"parameter {index} of {name}", p) for index, p in enumerate(held))

    def named_parameters(self) -> list[tuple[str, Any]]:
        """Return the parameters that the step's code can reach by what it names; all if it names
        none.
        """
        parameters = list(self.parameters())
        return [
            (name, parameter) for name, parameter in parameters if self.is_named(name)
        ] or parameters

    def named_one(self, kind: Callable[[Any], bool]) -> str:
        """Return the name of a value of some kind that the step names; "" if there is none."""
        values = [(name, variable) for name, variable in self.env.items() if name in self.names]
        values += [
            (f"{n}.{k}", v)
            for n, owner in self.objects()
            for k, v in vars(owner).items()
            if k in self.names
        ]
        return next((name for name, variable in values if kind(variable)), "")


class Variables:
    """The variables of a step as they were before it: what they were bound to, small containers
    with their entries, and copies of the iterators that can be copied.
    """

    def __init__(self, holders: list[tuple[Any, list[str]]]) -> None:
        self.holders = holders
        self.keys = [
            (holder, key) for holder, keys in holders if type(holder) is dict for key in keys
        ]
        self.cells = [holder for holder, _ in holders if type(holder) is not dict]
        # where a variable is kept and its name, its value
        self.before: list[tuple[tuple[Any, str], Any]] = []
        self.contents: list[tuple[Any, Any]] = []
        self.iterators: list[tuple[Any, Any]] = []
        # what the step has made, whose finalizers are not to run in a copy of the process
        self.after: list[Any] = []

    def save(self, args: Any) -> None:
        values = [holder.get(key, NOTHING) for holder, key in self.keys]
        kept = [
            without_graph(variable) if isinstance(variable, torch.Tensor) else variable
            for variable in values
        ]
        self.before = list(zip(self.keys, kept, strict=True))
        for cell in self.cells:
            self.before += [((cell, ""), without_graph(value)) for _, value in current(cell, [])]
        values = [value for _, value in self.before]
        self.contents = [
            (container, container.copy())
            for container in values
            if type(container) in PLAIN and len(container) <= FEW
        ]
        self.iterators = [
            (iterator, copy.copy(iterator))
            for iterator in (*values, *args)
            if type(iterator) in COPYABLE
        ]

    def restore(self, args: Any) -> Any:
        """Restore the variables; return the arguments with those iterators that the step was
        given.
        """
        fresh = {id(iterator): copied for iterator, copied in self.iterators}
        self.after = [value for holder, keys in self.holders for _, value in current(holder, keys)]
        self.after += [container.copy() for container, _ in self.contents]
        for (holder, key), value in self.before:
            put(holder, key, fresh.get(id(value), value))
        for container, content in self.contents:
            container.clear()
            container.extend(content) if hasattr(container, "extend") else container.update(content)
        return tuple(fresh.get(id(argument), argument) for argument in args)

    def forget(self) -> None:
        self.before = []
        self.contents = []
        self.iterators = []


def without_graph(value: Any) -> Any:
    """Return a variable's value; a result of the step before without its graph, which would stay in
    memory.
    """
    return (
        value.detach() if isinstance(value, torch.Tensor) and value.grad_fn is not None else value
    )


def current(holder: Any, keys: list[str]) -> list[tuple[str, Any]]:
    if type(holder) is dict:
        return [(key, holder.get(key, NOTHING)) for key in keys]
    try:
        return [("", holder.cell_contents)]
    except ValueError:  # an empty cell
        return []


def put(holder: Any, key: str, value: Any) -> None:
    if type(holder) is not dict:
        holder.cell_contents = value
    elif value is NOTHING:
        holder.pop(key, None)
    else:
        holder[key] = value


# ---- code


def function_of(step: Any, args: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """Return the Python function behind a step, the object that it is a method of, and its
    arguments.
    """
    arguments = tuple(args)
    while isinstance(step, functools.partial):
        step, arguments = step.func, (*step.args, *arguments)
    owner = getattr(step, "__self__", None)
    function = getattr(step, "__func__", step)
    if not isinstance(function, FunctionType):
        owner = step
        function = type(step).__dict__.get("__call__")
    if not isinstance(function, FunctionType):
        return None, owner, arguments
    return function, owner, arguments if owner is None else (owner, *arguments)


def environment(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the variables that a function can see: globals, closure variables, and its
    arguments.
    """
    if function is None:
        return dict(kwargs)
    return {
        **function.__globals__,
        **cells_of(function),
        **dict(zip(function.__code__.co_varnames, args)),
        **kwargs,
    }


def cells_of(function: Any) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return {name: value for name, cell in cells for _, value in current(cell, [])}


def names_in(code: CodeType) -> set[str]:
    """Return the names that a function's code uses, also in functions that it defines; without its
    own variables.
    """
    inner = [names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(code.co_freevars, *inner)


@functools.cache
def stored_by(kind: Any) -> list[str]:
    """Return the attributes that `forward` of a class of modules assigns and also reads, by methods
    that it names too. One that is only assigned, such as an output for a plot, is not part of the
    state, and may be large.
    """
    methods: dict[int, Any] = {}
    waiting = ["forward"]
    for name in waiting:
        for method in [
            inspect.unwrap(vars(base)[name]) for base in kind.__mro__ if name in vars(base)
        ]:
            if (
                isinstance(method, FunctionType)
                and id(method) not in methods
                and not is_hidden(method.__code__.co_filename)
            ):
                methods[id(method)] = method
                waiting += names_in(method.__code__)
    code = [step for method in methods.values() for step in dis.get_instructions(method)]
    stored = {step.argval for step in code if step.opname == "STORE_ATTR"}
    return sorted(
        stored.intersection(
            name for step in code if step.opname != "STORE_ATTR" for name in words_of(step)
        )
    )


def words_of(step: dis.Instruction) -> Iterator[str]:
    """Yield the names that an instruction may read: also constants, for getattr, and those of
    functions in a method.
    """
    if isinstance(step.argval, CodeType):
        yield from names_in(step.argval)
    elif isinstance(step.argval, str):
        yield step.argval


def functions_from(function: Any, owner: Any) -> list[Any]:
    """Return a step's function and those of the program that it names, directly or through
    others.
    """
    functions: dict[int, Any] = {}
    waiting = [function]
    while waiting:
        candidate = waiting.pop()
        if (
            not isinstance(candidate, FunctionType)
            or id(candidate) in functions
            or is_hidden(candidate.__code__.co_filename)
        ):
            continue
        functions[id(candidate)] = candidate
        names = names_in(candidate.__code__)
        waiting += [candidate.__globals__.get(name) for name in names]
        waiting += cells_of(candidate).values()
        # also those by super()
        waiting += [vars(kind).get(name) for kind in type(owner).__mro__ for name in names]
        waiting.append(getattr(candidate, "__wrapped__", None))
    return list(functions.values())


def program_file(function: Any) -> str:
    """Return the file of a step's function; of a function of a package (a trainer's) that of the
    program, or "" if that is none, so that no line of the package is taken for one of the program.
    """
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    if file == main or not is_installed(file):
        return file
    return "" if is_installed(main) else main


def holders_of(
    functions: list[Any], names: set[str], objects: list[Any]
) -> list[tuple[Any, list[str]]]:
    """Return where the named variables are kept: dicts of globals and attributes with the names,
    and closure cells.
    """
    holders: dict[int, tuple[Any, set[str]]] = {}
    for owner in functions:
        held = {
            name for name in names_in(owner.__code__) if is_variable(owner.__globals__.get(name))
        }
        holders.setdefault(id(owner.__globals__), (owner.__globals__, set()))[1].update(held)
        holders.update({id(cell): (cell, set()) for cell in owner.__closure__ or ()})
    for owner in objects:
        # `count = 0` in a class
        by_class = {name for name in names if is_variable(getattr(type(owner), name, None))}
        holders[id(vars(owner))] = vars(owner), by_class | names & vars(owner).keys()
    return [(holder, sorted(keys)) for holder, keys in holders.values()]


# ---- values


def is_variable(value: Any) -> bool:
    """Whether a global is part of the state: not a module, class or function."""
    return (
        value is not None
        and not isinstance(value, (type, ModuleType, FunctionType))
        and not is_of_c(value)
    )


def is_of_c(value: Any) -> bool:
    return type(value).__name__ in ("builtin_function_or_method", "method_descriptor", "ufunc")


def is_object(value: Any) -> bool:
    """Whether a value is an object of the program with attributes in a dict."""
    if isinstance(value, (type, ModuleType, FunctionType, torch.Tensor, torch.optim.Optimizer)):
        return False
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None) or ""
    return type(getattr(value, "__dict__", None)) is dict and not (file and is_hidden(file))


def is_drawn_from(value: Any) -> bool:
    """Whether a value gives its elements once, and cannot be copied. A file that is written to does
    not.
    """
    if isinstance(value, io.IOBase):
        return not value.closed and value.readable()
    return isinstance(value, Iterator) and type(value) not in COPYABLE


def is_pool(value: Any) -> bool:
    """Whether a value is a pool of threads or processes of Python's library."""
    kinds = (("concurrent.futures", "Executor"), ("multiprocessing.pool", "Pool"))
    return isinstance(
        value,
        tuple(getattr(sys.modules[file], name) for file, name in kinds if file in sys.modules),
    )
