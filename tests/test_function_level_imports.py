"""The complete list of imports inside functions, each with its reason. Any other import belongs at the top of its file.

There are two reasons: a run loads only what it needs (`tests/cli/test_imports.py` guards the start-up time), and two
modules that need each other cannot both import at the top.
"""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

# ---- modules that may be imported inside any function

NUMPY = "a scalar expression runs without numpy; elsewhere it is `gradtrace.engine.data.lazy.np`"
OPTIONAL = "an optional dependency"
SLOW = "takes milliseconds to import; most runs never need it"
ANYWHERE = {
    "numpy": NUMPY,
    "PIL": OPTIONAL,
    "distributed": OPTIONAL,
    "sympy": OPTIONAL,
    "tensorboardX": OPTIONAL,
    "click": SLOW,
    "graphviz": SLOW,
    "pygraphviz": SLOW,
    "collections": SLOW,
    "concurrent": SLOW,
    "csv": SLOW,
    "difflib": SLOW,
    "zipfile": SLOW,
    "inspect": SLOW,
    "json": SLOW,
    "secrets": SLOW,
    "random": SLOW,
    "shutil": SLOW,
    "tempfile": SLOW,
    "threading": SLOW,
    "traceback": SLOW,
    "unicodedata": SLOW,
    "warnings": SLOW,
    "xml": SLOW,
    "io": SLOW,
}

# ---- packages and files in which any module may be imported inside a function

WITHIN = {
    "gradtrace.cli": "a command imports its needs when it runs, so `--help`, completion and other commands stay fast",
    "gradtrace.pytest_plugin": "each run of pytest loads it",
    "gradtrace.notebook": "only a tensor of real PyTorch needs the front end that imports it",
    "gradtrace.batch.cluster": "the functions run on the workers of a cluster, which import what they need there",
    "gradtrace.batch.formats": "each format of a table loads its own reader and writer",
    "gradtrace.views.render": "each format of a picture loads its own writer",
    "gradtrace.torch": "a recorder loads nothing but torch while a program runs; views load when it is asked",
}

# ---- one by one: the importing module and the imported one, both without `gradtrace.`

CYCLE = "the imported module imports this one"
RARE = "loads at its first use; most runs never need it"
TERMINAL = "loads rich, which only a terminal needs"
LIMITS = "process limits: only a guarded run sets them, and not every platform has them"
FAMILY = "another family of operators: one function of many needs it"
ONE_BY_ONE = {
    "ops.public_call -> ops.out": RARE,
    "ops.public_call -> errors": RARE,
    "ops.public_call -> ops.signatures": RARE,
    "program.checkpoints -> utils.serialization": RARE,
    "program.errors -> program.modules": RARE,
    "program.errors -> program.torch_homes": RARE,
    "program.expression -> program.torch_homes": RARE,
    "engine.data.tensor -> copy": RARE,
    "batch.text -> trace.fields": "of the formats of text only JSON Lines needs it",
    "program.run -> program.discarding": RARE,
    "program.run -> contextlib": "an expression needs nothing of it",
    "program.run -> program.surroundings": "an expression needs nothing of it",
    "program.run -> program.instrument": RARE,
    "views.summary_writer -> views.model_graph": RARE,
    "views.summary_writer -> views.tensorboard": RARE,
    "trace.steps -> trace.opcheck": RARE,
    "engine.calls.call -> engine.reverse.compile": RARE,
    "engine.calls.call -> engine.reverse.saved_hooks": RARE,
    "engine.calls.function -> engine.calls.function_outputs": CYCLE,
    "engine.data.node -> copy": RARE,
    "engine.data.tensor -> engine.data.text": RARE,
    "engine.calls.call -> engine.operators.trigonometry": RARE,
    "engine.operators.rounding -> engine.operators.trigonometry": RARE,
    "engine.reverse.backward -> engine.reverse.blocks": RARE,
    "engine.reverse.plan -> engine.reverse.saved_hooks": RARE,
    "nn.modules.loss -> nn.modules.shape": RARE,
    "nn.modules.module -> nn.utils.parametrize": CYCLE,
    "nn.modules.rnn -> nn.modules.rnn_packed": CYCLE,
    "nn.utils.packing -> nn.utils.rnn": CYCLE,
    "ops.linalg.decompositions -> ops.linalg.vector_norm": FAMILY,
    "ops.nn.activation -> ops.random.generator": FAMILY,
    "ops.nn.activation -> ops.special.error_functions": FAMILY,
    "ops.nn.attention -> ops.nn.dropout": FAMILY,
    "ops.nn.margin -> ops.nn.activation": FAMILY,
    "ops.shape.join -> ops.shape.combine": CYCLE,
    "ops.signatures -> importlib.resources": RARE,
    "sandbox.confine -> resource": LIMITS,
    "program.depth -> resource": LIMITS,
    "program.inputs -> opcode": RARE,
    "program.parse -> program.notation": RARE,
    "program.watchdog -> _signal": LIMITS,
    "program.watchdog -> _thread": LIMITS,
    "program.watchdog -> resource": LIMITS,
    "static.graph -> static.session": CYCLE,
    "static.kernels -> ops.special.erf_kernels": RARE,
    "trace.array_summary -> trace.array_sketch": RARE,
    "trace.engine_builder -> trace.training": RARE,
    "sandbox.scratch -> fcntl": LIMITS,
    "views.cells -> re": RARE,
    "views.cells -> views.terminal": TERMINAL,
    "views.layout -> views.terminal": TERMINAL,
    "views.terminal -> rich.syntax": SLOW,
    "views.markup -> views.flight": RARE,
    "views.markup -> views.page": RARE,
    "views.animation -> sandbox.confine": RARE,
    "views.fold -> views.batches": CYCLE,
    "views.fold -> views.chains": CYCLE,
    "views.image -> sandbox.confine": RARE,
    "views.rows -> re": SLOW,
}

# ---- import_module of a module above, which lint-imports does not see

BY_NAME = {
    "lazy_names -> ops": "looks operators up for the packages that have them among their names"
}


def imports_in_functions():
    """(importing module, imported module, file and line) of every import inside a function."""
    for path in sorted((ROOT / "gradtrace").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    imported = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    assert node.level == 0, "imports are absolute"
                    imported = [module_named(node.module, alias.name) for alias in node.names]
                else:
                    continue
                yield from (
                    (module, name, f"{path.relative_to(ROOT)}:{node.lineno}") for name in imported
                )


def imports_by_name():
    """(importing module, imported module, file and line) of each import_module of a constant, or of one's start."""
    for path in sorted((ROOT / "gradtrace").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            if getattr(call.func, "attr", getattr(call.func, "id", "")) != "import_module":
                continue
            name = (
                call.args[0].values[0] if isinstance(call.args[0], ast.JoinedStr) else call.args[0]
            )
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield module, name.value.rstrip("."), f"{path.relative_to(ROOT)}:{call.lineno}"


def layer_of(module, layers):
    """The number of the layer that a module is in, counted from the top; None for the root and other packages."""
    package = ".".join(module.split(".")[:2])
    return next((number for number, layer in enumerate(layers) if package in layer), None)


def test_an_import_by_name_goes_the_way_of_the_others():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contract = tomllib.loads(text)["tool"]["importlinter"]["contracts"][0]
    layers = [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
    assert layer_of("gradtrace.views.page", layers) > layer_of("gradtrace.torch", layers)
    found = list(imports_by_name())
    assert any(name == "gradtrace.cli.commands" for _, name, _ in found)
    upward = [
        f"{where} imports {name}"
        for module, name, where in found
        if f"{module} -> {name}".replace("gradtrace.", "") not in BY_NAME
        and (own := layer_of(module, layers)) is not None
        and (other := layer_of(name, layers)) is not None
        and (other < own or (other == own and module.split(".")[1] != name.split(".")[1]))
    ]
    assert not upward, (
        "import_module hides an import against the layers of pyproject.toml:\n" + "\n".join(upward)
    )


def module_named(package, name):
    """The module that `from package import name` loads: a submodule, or the package itself."""
    path = ROOT.joinpath(*package.split("."), name)
    return f"{package}.{name}" if path.is_dir() or path.with_suffix(".py").exists() else package


def entry(module, imported):
    """The entry of the list that allows an import, where there is one."""
    top = imported.partition(".")[0]
    if top in ANYWHERE:
        return top
    for place in WITHIN:
        if module == place or module.startswith(place + "."):
            return place
    pair = f"{module} -> {imported}".replace("gradtrace.", "")
    return pair if pair in ONE_BY_ONE else None


def test_the_imports_inside_functions_are_those_on_the_list():
    found = list(imports_in_functions())
    missing = [
        f"{where} imports {name}" for module, name, where in found if not entry(module, name)
    ]
    assert not missing, (
        "move to the top of the file, or add to the list with a reason:\n" + "\n".join(missing)
    )
    used = {entry(module, name) for module, name, _ in found}
    assert {*ANYWHERE, *WITHIN, *ONE_BY_ONE} - used == set()
