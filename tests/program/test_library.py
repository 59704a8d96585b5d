"""What plain Python asks of the library: names, arguments and objects as PyTorch has them."""

import abc
import copy
import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import gradtrace as torch
from gradtrace import nn
from gradtrace.nn.utils.parametrizations import orthogonal
from gradtrace.program.modules import installed


@pytest.fixture
def library():
    """The module `torch` of a program."""
    with installed(print):
        yield importlib.import_module("torch")


# ---- arguments


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.unsqueeze(axis=0),
        lambda x: torch.argsort(x, axis=0),
        lambda x: torch.stack([x, x], axis=-1),
        lambda x: x.prod(axis=0, keepdims=True),
        lambda x: torch.add(x1=x, x2=x),
    ],
)
def test_numpy_names_of_arguments(call):
    assert isinstance(call(torch.ones(2, 3)), torch.Tensor)


def test_functions_of_nn_take_their_own_names_only():
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        nn.functional.softmax(torch.ones(2), axis=0)


def test_results_are_written_into_out():
    out = torch.empty(0)
    assert torch.add(torch.ones(2), 1, out=out) is out
    assert out.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.exp(torch.ones(2, requires_grad=True), out=out)
    assert torch.exp(torch.zeros(1), out=None).tolist() == [1]


def test_arguments_that_match_no_signature():
    with pytest.raises(
        TypeError, match=r"^sum\(\) received an invalid combination of arguments - got \(str\)"
    ):
        torch.ones(2).sum("a")
    with pytest.raises(TypeError, match=r"got \(Tensor, bad=int\)"):
        torch.argsort(torch.ones(2), bad=1)


@pytest.mark.parametrize("index", [torch.tensor(2), torch.tensor([2])])
@pytest.mark.parametrize("src", [torch.tensor(3.0), torch.tensor([3.0])])
def test_scatter_takes_a_number_as_index(index, src):
    for function in (torch.scatter, torch.scatter_add):
        assert function(torch.zeros(4), 0, index, src).tolist() == [0, 0, 3, 0]
    assert torch.zeros(4).scatter_(0, index, value=1).tolist() == [0, 0, 1, 0]


# ---- numpy


def test_arrays_and_tensors_in_operators():
    tensor, array = torch.tensor([1.0, 2.0]), np.array([1.0, 3.0])
    for result in (tensor == array, array == tensor):
        assert result.tolist() == [True, False]
    assert (array / tensor).tolist() == [1.0, 1.5]


def test_a_column_of_numbers_is_a_sequence():
    class Column:
        """An object like a column of pandas: sized, with a dtype and `item`."""

        dtype = np.dtype("int64")

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return np.int64([5, 6][index])

        def item(self):
            raise ValueError

    made = torch.tensor(Column())
    assert made.tolist() == [5, 6] and made.dtype is torch.int64


# ---- objects


def test_tensors_have_attributes_of_a_program():
    tensor = torch.ones(2)
    tensor.label = ["a"]
    twin = copy.deepcopy(tensor)
    assert twin.label == ["a"] and twin.label is not tensor.label
    assert pickle.loads(pickle.dumps(tensor)).label == ["a"]


def test_properties_of_tensors_are_not_writable():
    with pytest.raises(
        AttributeError,
        match=r"attribute 'shape' of 'torch\._C\.TensorBase' objects is not writable",
    ):
        torch.ones(2).shape = (1, 2)


def test_dtypes_are_pickled_as_themselves():
    for dtype in (torch.bool, torch.float32, torch.int64):
        assert pickle.loads(pickle.dumps(dtype)) is dtype is copy.deepcopy(dtype)


def test_a_module_can_be_abstract():
    class Base(nn.Module, abc.ABC):
        @abc.abstractmethod
        def encode(self, x):
            """Return the code of x."""

    with pytest.raises(TypeError, match="abstract"):
        Base()


def test_layouts_and_formats_print_as_names():
    assert repr(torch.ones(1).layout) == repr(torch.strided) == "torch.strided"
    assert isinstance(torch.strided, torch.layout) and isinstance(
        torch.channels_last, torch.memory_format
    )


def test_bfloat16_is_a_name(library):
    assert repr(library.bfloat16) == "torch.bfloat16"
    with pytest.raises(RuntimeError, match="no bfloat16 tensors"):
        library.zeros(1, dtype=library.bfloat16)


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("Tensor", "torch"),
        ("Size", "torch"),
        ("nn.Linear", "torch.nn.modules.linear"),
        ("nn.Flatten", "torch.nn.modules.flatten"),
        ("nn.LazyLinear", "torch.nn.modules.linear"),
        ("nn.Parameter", "torch.nn.parameter"),
        ("optim.AdamW", "torch.optim.adamw"),
        ("optim.lr_scheduler.StepLR", "torch.optim.lr_scheduler"),
        ("utils.data.DataLoader", "torch.utils.data.dataloader"),
        ("distributions.Normal", "torch.distributions.normal"),
        ("distributions.AffineTransform", "torch.distributions.transforms"),
        ("no_grad", "torch.autograd.grad_mode"),
        ("autograd.Function", "torch.autograd.function"),
    ],
)
def test_classes_name_pytorchs_modules_in_a_program(library, name, home):
    kind = library
    for part in name.split("."):
        kind = getattr(kind, part)
    assert repr(kind) == f"<class '{home}.{kind.__name__}'>"
    assert getattr(importlib.import_module("torch.nn"), "Linear", None) is nn.Linear


def test_classes_have_their_own_modules_after_a_program():
    with installed(print):
        assert importlib.import_module("torch.nn").Linear.__module__ == "torch.nn.modules.linear"
    assert nn.Linear.__module__ == "gradtrace.nn.modules.linear"
    assert torch.Tensor.__module__ == "gradtrace.engine.data.tensor"


def test_modules_are_pickled_in_a_program(library):
    model = library.nn.Sequential(library.nn.Linear(2, 1), library.nn.Flatten())
    content = pickle.dumps(model)
    assert b"gradtrace.nn" not in content
    assert repr(pickle.loads(content)) == repr(model)


# ---- names that were missing


@pytest.mark.parametrize("map_name", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize(("inputs", "outputs"), [(3, 3), (3, 5), (5, 3)])
def test_orthogonal_weights_stay_orthogonal(inputs, outputs, map_name):
    torch.manual_seed(0)
    layer = orthogonal(nn.Linear(inputs, outputs), orthogonal_map=map_name)
    with torch.no_grad():
        layer.parametrizations.weight.original.add_(0.1 * torch.ones(outputs, inputs).tril(-1))
    weight = layer.weight if outputs >= inputs else layer.weight.T
    assert torch.allclose(weight.T @ weight, torch.eye(min(inputs, outputs)), atol=1e-5)
    layer(torch.ones(1, inputs)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None


def test_profilers_measure_nothing(library):
    from_profiler = importlib.import_module("torch.profiler")
    with (
        from_profiler.profile(activities=[from_profiler.ProfilerActivity.CPU]) as profiler,
        from_profiler.record_function("step"),
    ):
        profiler.step()
    assert "--engine torch" in profiler.key_averages().table(sort_by="cpu_time_total", row_limit=5)


def test_figures_that_may_not_be_written_are_told_of_once(tmp_path):
    pytest.importorskip("matplotlib")
    code = (
        "import sys\n"
        "from gradtrace.program.modules import installed\n"
        "with installed(print):\n"
        "    import matplotlib; matplotlib.use('Agg')\n"
        "    import matplotlib.pyplot as plt\n"
        "    import matplotlib.backends.backend_agg as agg\n"
        "    def refuse(*args, **options): raise PermissionError(13, 'Permission denied')\n"
        "    agg.FigureCanvasAgg.print_png = refuse\n"
        "    for _ in range(2): plt.plot([1, 2]); plt.savefig('a.png')\n"
        "with installed(print):\n"  # a later program, as a note's next cell is
        "    plt.savefig('b.png')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (
        done.stdout == "figures are not written; --allow-write DIR names the folder for them\n" * 2
    ), done.stderr
