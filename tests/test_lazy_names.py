"""Names that load on first use: where they come from, what is listed, what an unknown name raises."""

import importlib
import sys
import types

import pytest

from gradtrace.lazy_names import attach, homes, words

SHOWN_AS = {
    "gradtrace": "gradtrace",
    "gradtrace.nn": "torch.nn",
    "gradtrace.nn.modules": "torch.nn.modules",
    "gradtrace.nn.functional": "torch.nn.functional",
    "gradtrace.nn.utils": "torch.nn.utils",
    "gradtrace.optim": "torch.optim",
    "gradtrace.distributions": "torch.distributions",
    "gradtrace.amp": "torch.amp",
    "gradtrace.static": "gradtrace.static",
    "gradtrace.autograd": "torch.autograd",
    "gradtrace.special": "torch.special",
    "gradtrace.linalg": "torch.linalg",
    "gradtrace.func": "torch.func",
    "gradtrace.utils": "torch.utils",
}


def test_words_keep_their_order():
    assert words(" b a\n    c ") == ("b", "a", "c") and words("") == ()
    assert homes("package", {"one": "A B", "two": "C"}) == {
        "A": "package.one",
        "B": "package.one",
        "C": "package.two",
    }


@pytest.fixture
def module(monkeypatch):
    module = types.ModuleType("lazy_example")
    monkeypatch.setitem(sys.modules, "lazy_example", module)
    return module


@pytest.mark.parametrize("name", SHOWN_AS)
def test_an_unknown_name_is_an_attribute_error_in_the_words_of_python(name):
    module = importlib.import_module(name)
    for unknown in ("no_such_name", "_private", "__path2__"):
        with pytest.raises(AttributeError) as raised:
            getattr(module, unknown)
        assert str(raised.value) == f"module '{SHOWN_AS[name]}' has no attribute '{unknown}'"


@pytest.mark.parametrize("name", SHOWN_AS)
def test_every_listed_name_exists(name):
    module = importlib.import_module(name)
    listed = dir(module)
    assert listed == sorted(set(listed)) and listed
    assert set(getattr(module, "__all__", ())) <= set(listed)
    for each in listed:
        getattr(module, each)


def test_a_name_comes_from_its_module_once(module):
    asked = []
    names = {
        **homes("os", {"path": "join"}),
        "folder": "os.path:dirname",
        "answer": lambda name: asked.append(name) or None,
    }
    module.__getattr__, module.__dir__ = attach(
        "lazy_example", names, modules={"path": "os.path"}, listed=("own",)
    )
    import os

    assert (
        module.join is os.path.join and module.folder is os.path.dirname and module.path is os.path
    )
    assert module.answer is None and module.answer is None and asked == ["answer"]
    assert dir(module) == ["answer", "folder", "join", "own", "path"]


def test_other_names_are_looked_up_among_the_operators(module):
    from gradtrace import ops

    module.__getattr__, module.__dir__ = attach(
        "lazy_example", {}, operators="linalg", not_operators=("inv",)
    )
    assert module.det is ops.find(ops.api.linalg, "det")
    assert "det" in dir(module)
    with pytest.raises(AttributeError, match="module 'lazy_example' has no attribute 'inv'"):
        _ = module.inv


def test_a_part_of_the_package_is_not_looked_up_among_the_operators():
    """Python asks the package for the name before it imports the module: `from gradtrace import files`."""
    import pkgutil

    import gradtrace

    parts = {
        module.name
        for module in pkgutil.iter_modules(gradtrace.__path__)
        if not module.name.startswith("__")
    }
    assert parts <= {*gradtrace._PARTS, *gradtrace._MODULES}
