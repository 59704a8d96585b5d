"""The functions and classes that take objects of a program: all others of the library get plain values only.

What is declared here calls the program's functions and methods, stores its objects, or checks them itself; it passes
none of them to numpy. Python's modules take objects: they ask a type for its special methods, and a program's class has
only those that the language offers.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType

from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang.known_classes import class_at, is_defined_in
from gradtrace.lang.values import ProgramFunction
from gradtrace.lang.words import words

CHECKED = words("gradtrace numpy")  # packages whose functions are checked, unless they are declared here
PACKAGES = ("gradtrace.", "numpy.")
# Modules of the language: they work on a program's objects, or check them (those for numpy).
LANGUAGE = words("""array_files arrays attributes builtins checkpoint_reader command_arguments compilers contexts
    enumerations figures generator_values hash_cost iteration library metered_builtins numpy_module numpy_numbers
    operators own_modules program_files program_logs progress python_functions python_modules random_module
    records regular_expressions saved strings subscripts system_modules text_modules tracebacks typing_names values
    warnings""")
# What follows are beginnings of qualified names in the library: of functions, classes, or a whole module (with a dot).
# These pass any object on to the program's code, or store it for the program.
ANYTHING = words("""amp.autocast. amp.custom_ autograd.graph.saved_tensors_hooks. engine.calls.function.
    engine.data.modes. func.batching. func.functional. func.functorch. func.jacobians. func.stateless. func.transforms.
    nn.modules.parameters. utils.benchmark. utils.checkpoint. utils.data.""")
# These take functions, and objects of a class with `__call__` or with a base class of the library: layers, optimizers.
CALLABLE = words("""amp. autograd.graph.register_ distributions.composed.Independent.__init__
    distributions.composed.MixtureSameFamily.__init__ distributions.composed.TransformedDistribution.__init__
    distributions.constraints.dependent_property distributions.distribution.computed_once distributions.kl.
    distributions.transforms.ComposeTransform.__init__ distributions.transforms.IndependentTransform.__init__
    engine.data.node.Node.register_ engine.reverse.saved_hooks. engine.data.tensor.Tensor.register_ func.gradcheck.
    nn.modules._hooks. nn.modules._state_dict.Stateful.register_
    nn.modules.container.DataParallel.__init__ nn.modules.container.ModuleDict.
    nn.modules.container.ModuleList. nn.modules.container.Sequential.__init__ nn.modules.container.Sequential.append
    nn.modules.container.Sequential.extend nn.modules.container.Sequential.insert
    nn.modules.loss.TripletMarginWithDistanceLoss.__init__ nn.modules.module.Module.add_module
    nn.modules.module.Module.apply nn.modules.module.Module.named_ nn.modules.module.Module.register_module
    nn.modules.module.Module.set_submodule nn.modules.transformer.Transformer.__init__
    nn.modules.transformer.TransformerDecoder.__init__ nn.modules.transformer.TransformerEncoder.__init__
    nn.modules.transformer._Layer.__init__ nn.utils.parametrizations. nn.utils.parametrize. nn.utils.prune.
    nn.utils.skip_init ops.nn.distance.triplet_margin_with_distance_loss optim. static.loops. static.tf1.while_loop
    views.summary.Writer.add_graph""")
# Functions of the language that call what they are given: those that `with_name` makes in place of these of Python's.
CALLERS = words("""accumulate dropwhile filter filterfalse groupby map max merge min nlargest nsmallest reduce sort
    sorted starmap takewhile""")
DATA = frozenset({Tensor, list, tuple, dict, str, int, float})
FOR_ANY, FOR_CALLABLES = tuple(ANYTHING), tuple(CALLABLE)
LAYERS = ("gradtrace.nn.modules.module:Module", "gradtrace.nn.modules.lazy:LazyModuleMixin")
DECLARED, CALLING = "_takes_objects", "_calls_arguments"
ANY, CALLABLES, NONE = 2, 1, 0
known_modules: set[str] = set()  # all whose functions take any object


def takes_objects(function: Any) -> Any:
    """Declare, as a decorator, that a function takes any object of a program."""
    vars(function)[DECLARED] = True
    return function


def taken_by(called: Any) -> int:
    """Return which objects of a program a function, class or object takes when it is called: ANY, CALLABLES or NONE."""
    kind = type(called)
    if kind is ProgramFunction or kind is BuiltinFunctionType:
        return ANY
    if kind is FunctionType:
        return declared(called)
    if kind is MethodType:
        return taken_by_layer(called.__self__) if calls_layer(called.__func__) else taken_by(called.__func__)
    if issubclass(kind, type):
        return taken_by_class(called)
    if kind is class_at("functools:partial"):
        return taken_by(called.func)
    call = getattr(kind, "__call__", None)  # noqa: B004 - of the type, whatever the object says
    if type(call) is not FunctionType:
        return ANY
    return taken_by_layer(called) if calls_layer(call) else declared(call)


def calls_layer(function: Any) -> Any:
    """Return the class of layers whose `__call__` a function is, or wraps; else None."""
    inner = vars(function).get("__wrapped__", function) if type(function) is FunctionType else None
    for cls in map(class_at, LAYERS):
        if cls is not None and inner is vars(cls).get("__call__", cls.__call__):
            return cls
    return None


def taken_by_layer(layer: Any) -> int:
    """Return ANY if the layer's `forward`, or that of a layer in it, is the program's; else what its class takes."""
    state = layer.__dict__
    if type(type(layer).forward) is ProgramFunction or "forward" in state:
        return ANY
    inner = [part for part in state.get("_modules", {}).values() if part is not None]
    return max(map(taken_by, inner), default=NONE)


def taken_by_class(cls: Any) -> int:
    """Return what the class's `__init__` or `__new__` takes; ANY for a class of Python or the program without them."""
    for make in (cls.__init__, cls.__new__):
        if type(make) in (FunctionType, ProgramFunction):
            return taken_by(make)
    return NONE if is_defined_in(cls, PACKAGES) else ANY


def declared(function: Any) -> int:
    """Return what a Python function takes: ANY for Python's own, NONE for the library's that are not declared here."""
    place, name = place_of(function)
    if place in known_modules or DECLARED in vars(function):
        return ANY
    package, _, module = place.partition(".")
    of_language = module.startswith("lang.") and module[len("lang.") :] in LANGUAGE
    if of_language or package not in CHECKED:
        known_modules.add(place)
        return ANY
    name = f"{module}.{name}"
    return ANY if name.startswith(FOR_ANY) else CALLABLES if name.startswith(FOR_CALLABLES) else NONE


def place_of(function: Any) -> tuple[str, str]:
    """Return the module and the qualified name of a Python function's code, which no attribute of it can change."""
    while (inner := vars(function).get("__wrapped__")) is not None:
        if type(inner) is class_at("gradtrace.lang.library:LibraryFunction"):
            inner = getattr(inner, "__wrapped__")  # noqa: B009 - mypy knows no type of it
        if type(inner) is not FunctionType:
            break
        function = inner
    return function.__globals__.get("__name__", "gradtrace"), function.__code__.co_qualname


def calls_arguments(function: Any) -> bool:
    """Whether a function of the language calls what it is given."""
    return type(function) is FunctionType and CALLING in vars(function)


def name_of(called: Any) -> str:
    """Return the name of a called function, method or class; for another object, that of its class."""
    named = called if isinstance(called, (type, FunctionType, MethodType)) else type(called)
    return str(named.__name__)
