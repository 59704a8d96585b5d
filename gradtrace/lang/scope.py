"""Static name resolution by Python's rules: the names that each scope binds, and the scopes that bind all others.

`analyse` walks the tree once, without recursion, and returns a NameScope for the module and for each function, lambda,
class and comprehension. From within a scope, a name is
    "local"     a variable of the scope's frame
    "cell"      a local variable that an inner function also uses: the frame holds it in a one-element list
    "free"      a cell of an enclosing function, which the frame gets when the function is defined
    "global"    a variable of the module, or a built-in

Private names of a class (`__x`) are mangled in the tree, as Python does.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterator
from gradtrace.program import syntax as ast

FUNCTIONS = (ast.FunctionDef, ast.Lambda)
# The fields of nodes that bind a name, which may be None.
CAPTURES: dict[Any, str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}


def captured_name(node: ast.AST) -> str | None:
    """Return the name that a handler or a pattern binds, not those in its parts."""
    field = CAPTURES.get(type(node))
    return None if field is None else getattr(node, field)


Places = dict[str, ast.AST]  # by name
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class NameScope:
    """The names of one scope. `kind` is "module", "function", "class" or "comprehension"."""

    def __init__(self, kind: str, name: str, parent: NameScope | None, private: str | None) -> None:
        self.kind = kind
        self.parent = parent
        self.private = private  # the class whose private names are mangled here
        self.children: list[NameScope] = []
        self.bound: set[str] = set()
        self.used: Places = {}  # name: where it is first used
        self.assigned: Places = {}  # name: where it is first assigned
        self.globals: Places = {}
        self.nonlocals: Places = {}
        self.cells: set[str] = set()
        self.free: set[str] = set()
        self.first_parameter: str | None = None  # which super() without arguments uses
        self.yields: ast.AST | None = None  # its first `yield`
        self.qualname = qualified(name, parent)
        if parent is not None:
            parent.children.append(self)

    @property
    def is_function(self) -> bool:
        return self.kind in ("function", "comprehension")

    def kind_of(self, name: str) -> str:
        own = name in self.bound and name not in self.globals and name not in self.nonlocals
        if self.kind == "module" or name in self.globals:
            return "global"
        if self.kind == "class" and own:
            return "local"
        if name in self.cells:
            return "cell"
        if name in self.free:
            return "free"
        return "local" if own else "global"

    def cell_key(self, name: str) -> str:
        """Return the key of a cell in a frame; in a class it has a prefix, since a variable may have the same name."""
        return "." + name if self.kind == "class" else name

    def use(self, name: str, node: ast.AST) -> None:
        keep_earliest(self.used, name, node)

    def bind(self, name: str, node: ast.AST) -> None:
        self.bound.add(name)
        keep_earliest(self.assigned, name, node)

    def mangled(self, name: str) -> str:
        """Return the name after Python's name mangling."""
        if self.private is None or not name.startswith("__") or name.endswith("__") or "." in name:
            return name
        owner = self.private.lstrip("_")
        return f"_{owner}{name}" if owner else name

    def walk(self) -> Iterator[NameScope]:
        todo = [self]
        while todo:
            scope = todo.pop()
            yield scope
            todo.extend(scope.children)


def keep_earliest(places: Places, name: str, node: ast.AST) -> None:
    known = places.get(name)
    if known is None or position(node) < position(known):
        places[name] = node


def position(node: Any) -> tuple[int, int]:
    return (node.lineno, node.col_offset)


def qualified(name: str, parent: NameScope | None) -> str:
    """Return the qualified name of a function or class, as in Python's messages."""
    if parent is None or parent.kind == "module":
        return name
    return f"{parent.qualname}.{name}" if parent.kind == "class" else f"{parent.qualname}.<locals>.{name}"


Scopes = dict[ast.AST, NameScope]


def analyse(tree: ast.Module) -> Scopes:
    """Return the scopes of a program, by their node; mangle private names in `tree`."""
    scopes: Scopes = {tree: NameScope("module", "<module>", None, None)}
    todo: list[tuple[Any, NameScope]] = [(node, scopes[tree]) for node in tree.body]
    while todo:
        node, scope = todo.pop()
        todo.extend(visit_node(node, scope, scopes))
    module = scopes[tree]
    for scope in scopes.values():
        module.bound |= scope.bound & set(scope.globals)
        resolve(scope)
    return scopes


def visit_node(node: Any, scope: NameScope, scopes: Scopes) -> list[tuple[Any, NameScope]]:
    """Record the names that a node uses or binds; return the nodes to visit next, with their scopes."""
    kind = type(node)
    if kind is ast.Name:
        node.id = scope.mangled(node.id)
        name(node, scope)
        return []
    if kind is ast.Constant:
        return []
    if kind in FUNCTIONS:
        return visit_function(node, scope, scopes)
    if kind is ast.ClassDef:
        return visit_class(node, scope, scopes)
    if kind in COMPREHENSIONS:
        return visit_comprehension(node, scope, scopes)
    if kind is ast.NamedExpr and scope.kind == "comprehension":
        visit_walrus(node, scope)
        return [(node.value, scope)]
    if kind is ast.Attribute:
        node.attr = scope.mangled(node.attr)
    elif kind is ast.keyword and node.arg is not None:
        node.arg = scope.mangled(node.arg)
    elif kind is ast.alias and node.name != "*":
        scope.bind(scope.mangled(node.asname or node.name.partition(".")[0]), node)
    elif (captured := captured_name(node)) is not None:
        captured = scope.mangled(captured)
        setattr(node, CAPTURES[kind], captured)
        scope.bind(captured, node)
    elif kind in (ast.Yield, ast.YieldFrom):
        scope.yields = scope.yields or node
    elif kind in (ast.Global, ast.Nonlocal):
        declared = scope.globals if kind is ast.Global else scope.nonlocals
        node.names = [scope.mangled(n) for n in node.names]
        declared.update(dict.fromkeys(node.names, node))
    elif kind is ast.AnnAssign:  # annotations are not evaluated
        return [(child, scope) for child in (node.target, node.value) if child is not None]
    return [(child, scope) for child in ast.iter_child_nodes(node)]


def name(node: ast.Name, scope: NameScope) -> None:
    if not isinstance(node.ctx, ast.Load):
        scope.bind(node.id, node)
        return
    scope.use(node.id, node)
    if node.id == "super" and scope.is_function:
        scope.use("__class__", node)  # used by super() without arguments


def visit_walrus(node: ast.NamedExpr, scope: NameScope) -> None:
    """Bind the target of `:=` in a comprehension in the enclosing scope."""
    key = node.target.id = scope.mangled(node.target.id)
    owner = scope
    while owner.kind == "comprehension":
        assert owner.parent is not None
        if owner is not scope:
            owner.use(key, node)
        owner = owner.parent
    owner.bind(key, node)
    if owner.kind == "module" or key in owner.globals:
        scope.globals[key] = node
    else:
        scope.nonlocals[key] = node


def visit_function(node: Any, scope: NameScope, scopes: Scopes) -> list[tuple[Any, NameScope]]:
    is_lambda = isinstance(node, ast.Lambda)
    if not is_lambda:
        node.name = scope.mangled(node.name)
        scope.bind(node.name, node)
    inner = scopes[node] = NameScope("function", "<lambda>" if is_lambda else node.name, scope, scope.private)
    a = node.args
    for parameter in parameters_of(node):
        parameter.arg = inner.mangled(parameter.arg)
        inner.bound.add(parameter.arg)
    inner.first_parameter = next((p.arg for p in (*a.posonlyargs, *a.args)), None)
    outside = [*a.defaults, *(d for d in a.kw_defaults if d is not None), *getattr(node, "decorator_list", ())]
    body = [node.body] if is_lambda else node.body
    return [*((n, scope) for n in outside), *((n, inner) for n in body)]


def parameters_of(node: Any) -> list[ast.arg]:
    """Return the parameters of a function; none for another node."""
    a = getattr(node, "args", None)
    if not isinstance(a, ast.arguments):
        return []
    every = (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg)
    return [parameter for parameter in every if parameter is not None]


def visit_class(node: ast.ClassDef, scope: NameScope, scopes: Scopes) -> list[tuple[Any, NameScope]]:
    own = node.name
    node.name = scope.mangled(own)
    scope.bind(node.name, node)
    inner = scopes[node] = NameScope("class", own, scope, own)
    outside = [*node.bases, *node.keywords, *node.decorator_list]
    return [*((n, scope) for n in outside), *((n, inner) for n in node.body)]


def visit_comprehension(node: Any, scope: NameScope, scopes: Scopes) -> list[tuple[Any, NameScope]]:
    """Create the scope of a comprehension; its first iterable belongs to the enclosing scope."""
    generator = isinstance(node, ast.GeneratorExp)
    inner = scopes[node] = NameScope("comprehension", "<genexpr>" if generator else "<comp>", scope, scope.private)
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    first, *others = node.generators
    parts += [first.target, *first.ifs]
    for g in others:
        parts += [g.target, g.iter, *g.ifs]
    return [(first.iter, scope), *((n, inner) for n in parts)]


def resolve(scope: NameScope) -> None:
    """Find the enclosing function that binds each nonlocal name of the scope, and make its variable a cell."""
    if scope.kind == "module":
        return
    own = scope.bound - set(scope.nonlocals)
    for key in {*scope.used, *scope.bound, *scope.nonlocals}:
        if key in own or key in scope.globals:
            continue
        if key == "__class__" or scope.parent is not None:
            capture_name(scope, key)


def capture_name(scope: NameScope, key: str) -> None:
    owner = scope.parent
    passed = [scope]
    while owner is not None and not binds(owner, key):
        if key in owner.globals:
            return
        passed.append(owner)
        owner = owner.parent
    if owner is None or owner.kind == "module" or key in owner.globals:
        return
    owner.cells.add(key)
    for inner in passed:
        inner.free.add(key)


def binds(scope: NameScope, key: str) -> bool:
    """Whether inner functions see the name in this scope; a class provides only `__class__`."""
    if scope.kind == "class":
        return key == "__class__"
    return key in scope.bound and key not in scope.nonlocals
