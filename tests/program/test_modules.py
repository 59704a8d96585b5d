"""The modules that a program imports: gradtrace's library under PyTorch's names."""

import importlib
import sys
import types
from traceback import format_exception_only

import pytest

from gradtrace.program.modules import TorchModule, installed, missing_from_torch


class Told(list):
    """The lines that a program's modules printed for the user."""

    def __call__(self, text):
        self.append(text)


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def modules(told):
    with installed(told):
        yield


def variables_of(text):
    """Run a program and return its variables."""
    module = types.ModuleType("program")
    exec(compile(text, "program.py", "exec"), vars(module))
    return vars(module)


@pytest.mark.parametrize(
    "text",
    [
        "import torch; result = torch.ones(2).sum().item() == 2",
        "import torch.nn.functional as F, torch; result = F.relu(torch.tensor(-1.0)).item() == 0",
        "from torch import nn, optim; result = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1).defaults['lr'] == 0.1",
        "from torch.nn import *; result = Linear(2, 1).in_features == 2",
        "from torch import *; result = ones(2).shape == Size([2])",
        "from torch.utils.data import DataLoader, TensorDataset as T; import torch; result = len(T(torch.ones(3)))",
        "from torch.optim.lr_scheduler import StepLR; result = StepLR.__name__ == 'StepLR'",
        "from torch.nn.modules.utils import _pair; result = _pair(2) == (2, 2)",
        "from torch.nn.modules.batchnorm import _BatchNorm; from torch import nn; result = nn.BatchNorm1d(2)",
        "from torch.utils import _pytree as p; result = p.tree_map(lambda x: x + 1, {'a': [1, 2]}) == {'a': [2, 3]}",
        "import torch; torch.backends.cudnn.benchmark = True; result = torch.backends.cudnn.benchmark",
        "import torch; result = not torch.cuda.is_available() and torch.__version__.startswith('2.')",
        "import torch; result = not hasattr(torch, 'no_such_name') and hasattr(torch, 'sigmoid')",
        "import torch; result = {'nn', 'sigmoid', 'compile'} <= {*dir(torch)}",
        "import torch; import gradtrace; result = torch.Tensor is gradtrace.Tensor",
        "import functorch; result = functorch.vmap",
        "import tensorflow.compat.v1 as tf; result = tf.constant(1.0).name == 'Const:0'",
        "from torch.nn.parallel import DistributedDataParallel; from torch.nn.parallel import DataParallel as result",
        "from torch.utils.data._utils.collate import default_collate; result = default_collate",
        "from torch.nn.utils.clip_grad import clip_grad_norm_; result = clip_grad_norm_",
        "from torch.nn.attention import SDPBackend, sdpa_kernel\nwith sdpa_kernel(SDPBackend.MATH): result = True",
        "import torch; result = torch.jit.freeze(torch.jit.optimize_for_inference(torch.nn.ReLU()))",
        "import tensorflow as tf; result = not hasattr(tf, 'train') and 'while_loop' in dir(tf)",
        "import torch; result = torch.jit.script(abs) is abs and torch.compiler.is_compiling() is False",
    ],
)
def test_a_program_imports_names_of_torch(modules, text):
    assert variables_of(text)["result"]


def test_modules_look_like_modules(modules):
    functional = importlib.import_module("torch.nn.functional")
    assert isinstance(functional, types.ModuleType)
    assert type(functional).__name__ == "module"
    assert functional.__name__ == "torch.nn.functional"
    assert functional is sys.modules["torch.nn.functional"] is sys.modules["torch"].nn.functional


def test_modules_of_a_program_go_with_it(told):
    before = {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"
    }
    finders = list(sys.meta_path)
    with installed(told):
        assert isinstance(importlib.import_module("torch.nn"), TorchModule)
    assert {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"
    } == before
    assert sys.meta_path == finders


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        (
            "import torch; torch.sigmoyd",
            "torch.sigmoyd",
            "module 'torch' has no attribute 'sigmoyd'",
        ),
        (
            "import torch.nn as nn; nn.Linaer",
            "torch.nn.Linaer",
            "module 'torch.nn' has no attribute 'Linaer'",
        ),
        ("from torch import onnx", "torch.onnx", "cannot import name 'onnx' from 'torch'"),
        ("import torch.onnx", "torch.onnx", "No module named 'torch.onnx'"),
        ("import torchvision.datasets", "torchvision", "torchvision"),
        ("import no_such_package", "", "No module named 'no_such_package'"),
        ("[].no_such_name", "", "'list' object has no attribute"),
    ],
)
def test_a_missing_name_is_known_as_one_of_torch(modules, text, name, line):
    with pytest.raises((AttributeError, ImportError)) as caught:
        variables_of(text)
    assert missing_from_torch(caught.value) == name
    assert line in "".join(format_exception_only(caught.value))


def test_python_can_suggest_the_names_of_a_module(modules):
    with pytest.raises(AttributeError) as caught:
        variables_of("import torch.nn; torch.nn.Linaer")
    assert "Linear" in dir(caught.value.obj)


def test_compilers_are_told_of_once(modules, told):
    variables_of("import torch\nfor _ in range(3): torch.compile(abs)")
    assert told == ["torch.compile: runs the function itself, without compiling it"]


PLOTTING = """
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d import Axes3D
fig, ax = plt.subplots()
fig, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(4, 4))
line, = a.plot([1, 2], label="x")
counts, edges, patches = plt.hist([1, 2])
with plt.style.context("ggplot"):
    plt.title("t")
plt.rcParams["font.size"] = 3
plt.show()
"""


@pytest.fixture
def without_packages(monkeypatch):
    """Hide the packages that stand-ins replace, where they are installed."""
    packages = ("matplotlib", "mpl_toolkits", "tqdm")

    class Hiding:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return (
                None
                if name.partition(".")[0] in packages
                else importlib.machinery.PathFinder.find_spec(name, path)
            )

    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        monkeypatch.delitem(sys.modules, name)
    finders = [
        Hiding if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path
    ]
    monkeypatch.setattr(sys, "meta_path", finders)


def test_plotting_without_matplotlib_does_nothing(without_packages, modules, told):
    variables_of(PLOTTING)
    assert told == [
        "matplotlib is not installed: plotting calls do nothing; pip install 'gradtrace[plot]'"
    ]


def test_bars_without_tqdm_iterate(without_packages, modules, told):
    text = "from tqdm.auto import tqdm, trange; result = [*tqdm([1, 2], desc='d'), *trange(2)]"
    assert variables_of(text)["result"] == [1, 2, 0, 1]
    assert not told
