"""Names of torch that tell of the machine, give back a function itself, or are refused."""

from __future__ import annotations

import io

import pytest

from gradtrace import lang
from gradtrace.errors import GradtraceError


def run(text: str) -> tuple[str, str]:
    """Run a program; its stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    lang.run(lang.parse("import torch\n" + text), {}, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", ["complex64", "cfloat", "fft", "complex", "polar", "view_as_complex", "stft"])
def test_complex_numbers_are_refused(name: str) -> None:
    with pytest.raises(GradtraceError) as raised:
        run(f"torch.{name}")
    assert f"torch.{name} is not available" in raised.value.message
    assert "no complex numbers" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("torch.sparse_csr_tensor", "in coordinates only"),
        ("torch.bfloat16", "no bfloat16"),
        ("torch.hub.load('a', 'b')", "nothing from the network"),
        ("torch.fx.Graph", "programs run as they are written"),
        ("import torchvision.transforms", "no other packages"),
        ("from sklearn.datasets import make_moons", "no other packages"),
    ],
)
def test_what_scripts_often_use_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(GradtraceError) as raised:
        run(text)
    assert "is not available" in raised.value.message
    assert reason in str(raised.value.hint)


def test_a_complex_literal_is_refused() -> None:
    with pytest.raises(GradtraceError, match="complex numbers are not part of the language"):
        run("torch.tensor(1 + 2j)")


def test_compilers_give_the_function_itself_and_say_so_once() -> None:
    out, err = run(
        "def f(x): return x * 2\n"
        "print(torch.compile(f) is f, torch.compile(f) is f, torch.jit.script(f) is f)\n"
        "print(torch.jit.trace(f, torch.ones(1)) is f)\n"
        "@torch.compile(mode='max-autotune')\n"
        "def g(x): return x + 1\n"
        "print(g(1), torch.compiler.is_compiling())\n"
    )
    assert out == "True True True\nTrue\n2 False\n"
    assert err.splitlines() == [
        f"{name}: runs the function itself, without compiling it"
        for name in ("torch.compile", "torch.jit.script", "torch.jit.trace")
    ]


def test_flags_of_a_backend_belong_to_one_run() -> None:
    text = "print(torch.backends.cudnn.benchmark)\n"
    assert run("torch.backends.cudnn.benchmark = True\n" + text)[0] == "True\n"
    assert run(text)[0] == "False\n"


@pytest.mark.parametrize(
    "text",
    [
        "torch.backends.cudnn.is_available = True",
        "torch.backends.cudnn.benchmark = print",
        "torch.relu = 1",
        "del torch.backends.cudnn.benchmark",
        "torch.backends.cudnn._modules = 1",
        "torch.backends.cudnn._modules",
    ],
)
def test_other_names_of_a_module_are_read_only(text: str) -> None:
    with pytest.raises(GradtraceError):
        run(text)


def test_the_version_says_what_it_is() -> None:
    assert (
        run("print(torch.__version__, torch.version.__version__ == torch.__version__)")[0] == "2.13.0+gradtrace True\n"
    )


@pytest.mark.parametrize("call", ["torch.cuda.get_device_name(0)", "torch.cuda.set_device(0)"])
def test_there_is_no_gpu(call: str) -> None:
    with pytest.raises(GradtraceError, match="Torch not compiled with CUDA enabled"):
        run(call)


def test_numpy_print_options_end_with_the_run() -> None:
    shown = "import numpy as np\nprint(np.array([1.23456789]))"
    assert run("import numpy as np\nnp.set_printoptions(precision=2)\n" + shown)[0] == "[1.23]\n"
    assert run(shown)[0] == "[1.23456789]\n"


def test_a_timer_takes_a_function() -> None:
    out, _ = run(
        "from torch.utils.benchmark import Timer\n"
        "x = torch.ones(4)\n"
        "m = Timer(lambda: x.sum(), label='sum').timeit(20)\n"
        "print(m.number_per_run, 0 < m.mean < 1, m.iqr, 'sum' in str(m), len(m.times))\n"
        "print(len(Timer(lambda: x * 2).blocked_autorange(min_run_time=0.01).times) > 1)\n"
    )
    assert out == "20 True 0.0 True 1\nTrue\n"
    with pytest.raises(GradtraceError, match="takes a function"):
        run("from torch.utils.benchmark import Timer\nTimer('x + 1')")
