"""How tensors print: text recorded from PyTorch 2.13 (its `repr` on the CPU), to be met to the last space."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from gradtrace.engine.data import text

# fmt: off
# name, value (an array is cast to the dtype), dtype, further arguments, print options, what PyTorch prints
CASES: list[tuple[str, Any, str, dict[str, Any], dict[str, Any], str]] = [
    ("zero_dim", 3.5, "float32", {}, {}, "tensor(3.5000)"),
    ("zero_dim_float64", 3.5, "float64", {}, {}, "tensor(3.5000, dtype=torch.float64)"),
    ("zero_dim_float64_default", 2.0, "float64", {"default_dtype_name": "float64", "requires_grad": True}, {},
     "tensor(2., requires_grad=True)"),
    ("zero_dim_whole", 6.0, "float32", {"requires_grad": True}, {}, "tensor(6., requires_grad=True)"),
    ("zero_dim_grad_fn", 6.0, "float32", {"grad_fn_name": "MulBackward0"}, {},
     "tensor(6., grad_fn=<MulBackward0>)"),
    ("zero_dim_custom_function", 0.25, "float32", {"grad_fn_name": "MyReLUBackward"}, {},
     "tensor(0.2500, grad_fn=<MyReLUBackward>)"),
    ("zero_dim_tiny", 1e-5, "float64", {}, {}, "tensor(1.0000e-05, dtype=torch.float64)"),
    ("zero_dim_large", 123456789.0, "float64", {}, {}, "tensor(1.2346e+08, dtype=torch.float64)"),
    ("zero_dim_hundred_million", 1e8, "float64", {}, {}, "tensor(100000000., dtype=torch.float64)"),
    ("zero_dim_nan", nan, "float32", {}, {}, "tensor(nan)"),
    ("zero_dim_minus_inf", -inf, "float64", {}, {}, "tensor(-inf, dtype=torch.float64)"),
    ("zero_dim_minus_zero", -0.0, "float32", {}, {}, "tensor(-0.)"),
    ("zero_dim_bool", True, "bool", {}, {}, "tensor(True)"),
    ("zero_dim_int", -7, "int64", {}, {}, "tensor(-7)"),
    ("zero_dim_int32", np.array(-7), "int32", {}, {}, "tensor(-7, dtype=torch.int32)"),
    ("vector", np.array([1.5, -2.25, 3.0]), "float32", {}, {}, "tensor([ 1.5000, -2.2500,  3.0000])"),
    ("vector_whole", np.array([1.0, -2.0, 30.0]), "float32", {}, {}, "tensor([ 1., -2., 30.])"),
    ("vector_rounds_up", np.array([999.99999, 1.5]), "float64", {}, {},
     "tensor([1000.0000,    1.5000], dtype=torch.float64)"),
    ("ratio_of_thousand", np.array([1.0, 1000.0]), "float32", {}, {}, "tensor([   1., 1000.])"),
    ("ratio_over_thousand", np.array([1.0, 1001.0]), "float32", {}, {}, "tensor([1.0000e+00, 1.0010e+03])"),
    ("whole_large", np.array([1e8, 2e8]), "float32", {}, {}, "tensor([1.0000e+08, 2.0000e+08])"),
    ("least_fixed", np.array([1e-4, 1e-3]), "float64", {}, {},
     "tensor([0.0001, 0.0010], dtype=torch.float64)"),
    ("least_scientific", np.array([9e-5, 1e-4, -0.0]), "float64", {}, {},
     "tensor([9.0000e-05, 1.0000e-04, -0.0000e+00], dtype=torch.float64)"),
    ("float32_just_below", np.array([1e-4, 1e-3]), "float32", {}, {}, "tensor([1.0000e-04, 1.0000e-03])"),
    ("specials_only", np.array([nan, inf, -inf, 0.0, -0.0]), "float32", {}, {},
     "tensor([nan, inf, -inf, 0., -0.])"),
    ("specials_whole", np.array([nan, inf, -inf, -0.0, 12.0]), "float32", {}, {},
     "tensor([nan, inf, -inf, -0., 12.])"),
    ("specials_fraction", np.array([nan, inf, -inf, -0.0, 0.5]), "float32", {}, {},
     "tensor([   nan,    inf,   -inf, -0.0000, 0.5000])"),
    ("specials_scientific", np.array([nan, inf, -inf, -0.0, 1e-30]), "float32", {}, {},
     "tensor([       nan,        inf,       -inf, -0.0000e+00, 1.0000e-30])"),
    ("extremes_float64", np.array([5e-324, 1.7976931348623157e308]), "float64", {}, {},
     "tensor([4.9407e-324, 1.7977e+308], dtype=torch.float64)"),
    ("float16", np.array([1 / 3, 65504.0]), "float16", {"requires_grad": True}, {},
     "tensor([3.3325e-01, 6.5504e+04], dtype=torch.float16, requires_grad=True)"),
    ("float16_default", np.array([0.1, 2.0]), "float16", {"default_dtype_name": "float16"}, {},
     "tensor([0.1000, 2.0000])"),
    ("bools", np.array([[True, False], [False, False]]), "bool", {}, {}, """\
tensor([[ True, False],
        [False, False]])"""),
    ("ints", np.array([[1, -20], [300, 4]]), "int64", {}, {}, """\
tensor([[  1, -20],
        [300,   4]])"""),
    ("int8", np.array([-128, 127]), "int8", {}, {}, "tensor([-128,  127], dtype=torch.int8)"),
    ("int16", np.array([1, 2]), "int16", {}, {}, "tensor([1, 2], dtype=torch.int16)"),
    ("uint8", np.array([255, 0]), "uint8", {}, {}, "tensor([255,   0], dtype=torch.uint8)"),
    ("int64_extremes", np.array([-(2**63), 2**63 - 1]), "int64", {}, {},
     "tensor([-9223372036854775808,  9223372036854775807])"),
    ("matrix", np.arange(6).reshape(2, 3) / 3, "float32", {"requires_grad": True}, {}, """\
tensor([[0.0000, 0.3333, 0.6667],
        [1.0000, 1.3333, 1.6667]], requires_grad=True)"""),
    ("three_dims", np.arange(8.0).reshape(2, 2, 2), "float32", {}, {}, """\
tensor([[[0., 1.],
         [2., 3.]],

        [[4., 5.],
         [6., 7.]]])"""),
    ("four_dims", np.arange(4.0).reshape(2, 1, 2, 1), "float64", {"requires_grad": True}, {}, """\
tensor([[[[0.],
          [1.]]],


        [[[2.],
          [3.]]]], dtype=torch.float64, requires_grad=True)"""),
    ("wrapped_vector", np.arange(20) / 7, "float32", {"grad_fn_name": "DivBackward0"}, {}, """\
tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,
        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,
        2.5714, 2.7143], grad_fn=<DivBackward0>)"""),
    ("wrapped_in_matrix", np.arange(24).reshape(2, 12) / 8 + 100, "float64", {}, {}, """\
tensor([[100.0000, 100.1250, 100.2500, 100.3750, 100.5000, 100.6250, 100.7500,
         100.8750, 101.0000, 101.1250, 101.2500, 101.3750],
        [101.5000, 101.6250, 101.7500, 101.8750, 102.0000, 102.1250, 102.2500,
         102.3750, 102.5000, 102.6250, 102.7500, 102.8750]],
       dtype=torch.float64)"""),
    ("suffix_fits_exactly", np.arange(6) / 8, "float32", {"grad_fn_name": "FitBackward"}, {},
     "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250], grad_fn=<FitBackward>)"),
    ("suffix_one_too_long", np.arange(6) / 8, "float32", {"grad_fn_name": "WrapBackward"}, {}, """\
tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250],
       grad_fn=<WrapBackward>)"""),
    ("suffix_after_last_line", np.arange(7) / 8 + 1000000, "float32", {"requires_grad": True}, {}, """\
tensor([1000000.0000, 1000000.1250, 1000000.2500, 1000000.3750, 1000000.5000,
        1000000.6250, 1000000.7500], requires_grad=True)"""),
    ("suffix_counts_anew", np.arange(6) / 8, "float64",
     {"grad_fn_name": "FunctionWithAnUnusuallyLongNameBackward"}, {}, """\
tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250], dtype=torch.float64,
       grad_fn=<FunctionWithAnUnusuallyLongNameBackward>)"""),
    ("other_prefix", np.arange(12) / 8, "float32", {"prefix": "Sub("}, {}, """\
Sub([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,
     1.1250, 1.2500, 1.3750])"""),
    ("empty", np.zeros(0), "float32", {}, {}, "tensor([])"),
    ("empty_sizes", np.zeros((0, 3)), "float32", {"requires_grad": True}, {},
     "tensor([], size=(0, 3), requires_grad=True)"),
    ("empty_float64", np.zeros((2, 0)), "float64", {"grad_fn_name": "SliceBackward0"}, {},
     "tensor([], size=(2, 0), dtype=torch.float64, grad_fn=<SliceBackward0>)"),
    ("empty_int64", np.zeros(0), "int64", {}, {}, "tensor([], dtype=torch.int64)"),
    ("empty_bool", np.zeros((0, 0)), "bool", {}, {}, "tensor([], size=(0, 0), dtype=torch.bool)"),
    ("summary_vector", np.arange(1001), "int64", {}, {},
     "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    ("summary_not_yet", np.arange(100).reshape(4, 25) % 10, "int64", {}, {}, """\
tensor([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3,
         4],
        [5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8,
         9],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3,
         4],
        [5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8,
         9]])"""),
    ("summary_matrix", np.arange(2000.0).reshape(20, 100), "float32", {}, {}, """\
tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01, 9.8000e+01,
         9.9000e+01],
        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02, 1.9800e+02,
         1.9900e+02],
        [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02, 2.9800e+02,
         2.9900e+02],
        ...,
        [1.7000e+03, 1.7010e+03, 1.7020e+03,  ..., 1.7970e+03, 1.7980e+03,
         1.7990e+03],
        [1.8000e+03, 1.8010e+03, 1.8020e+03,  ..., 1.8970e+03, 1.8980e+03,
         1.8990e+03],
        [1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9970e+03, 1.9980e+03,
         1.9990e+03]])"""),
    ("summary_style_of_edges", np.where(np.arange(2000) == 1000, 1e9, 0.5), "float32", {}, {},
     "tensor([0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000])"),
    ("summary_three_dims", np.arange(1200).reshape(3, 8, 50) / 4, "float64",
     {"grad_fn_name": "ViewBackward0"}, {}, """\
tensor([[[0.0000e+00, 2.5000e-01, 5.0000e-01,  ..., 1.1750e+01,
          1.2000e+01, 1.2250e+01],
         [1.2500e+01, 1.2750e+01, 1.3000e+01,  ..., 2.4250e+01,
          2.4500e+01, 2.4750e+01],
         [2.5000e+01, 2.5250e+01, 2.5500e+01,  ..., 3.6750e+01,
          3.7000e+01, 3.7250e+01],
         ...,
         [6.2500e+01, 6.2750e+01, 6.3000e+01,  ..., 7.4250e+01,
          7.4500e+01, 7.4750e+01],
         [7.5000e+01, 7.5250e+01, 7.5500e+01,  ..., 8.6750e+01,
          8.7000e+01, 8.7250e+01],
         [8.7500e+01, 8.7750e+01, 8.8000e+01,  ..., 9.9250e+01,
          9.9500e+01, 9.9750e+01]],

        [[1.0000e+02, 1.0025e+02, 1.0050e+02,  ..., 1.1175e+02,
          1.1200e+02, 1.1225e+02],
         [1.1250e+02, 1.1275e+02, 1.1300e+02,  ..., 1.2425e+02,
          1.2450e+02, 1.2475e+02],
         [1.2500e+02, 1.2525e+02, 1.2550e+02,  ..., 1.3675e+02,
          1.3700e+02, 1.3725e+02],
         ...,
         [1.6250e+02, 1.6275e+02, 1.6300e+02,  ..., 1.7425e+02,
          1.7450e+02, 1.7475e+02],
         [1.7500e+02, 1.7525e+02, 1.7550e+02,  ..., 1.8675e+02,
          1.8700e+02, 1.8725e+02],
         [1.8750e+02, 1.8775e+02, 1.8800e+02,  ..., 1.9925e+02,
          1.9950e+02, 1.9975e+02]],

        [[2.0000e+02, 2.0025e+02, 2.0050e+02,  ..., 2.1175e+02,
          2.1200e+02, 2.1225e+02],
         [2.1250e+02, 2.1275e+02, 2.1300e+02,  ..., 2.2425e+02,
          2.2450e+02, 2.2475e+02],
         [2.2500e+02, 2.2525e+02, 2.2550e+02,  ..., 2.3675e+02,
          2.3700e+02, 2.3725e+02],
         ...,
         [2.6250e+02, 2.6275e+02, 2.6300e+02,  ..., 2.7425e+02,
          2.7450e+02, 2.7475e+02],
         [2.7500e+02, 2.7525e+02, 2.7550e+02,  ..., 2.8675e+02,
          2.8700e+02, 2.8725e+02],
         [2.8750e+02, 2.8775e+02, 2.8800e+02,  ..., 2.9925e+02,
          2.9950e+02, 2.9975e+02]]], dtype=torch.float64,
       grad_fn=<ViewBackward0>)"""),
    ("precision", np.array([1 / 3, 20.0]), "float32", {}, {"precision": 2}, "tensor([ 0.33, 20.00])"),
    ("precision_zero", np.array([0.5, 1.5, 2.5]), "float32", {}, {"precision": 0}, "tensor([0, 2, 2])"),
    ("profile_short", np.arange(1600).reshape(40, 40) / 7, "float64", {}, {"profile": "short"}, """\
tensor([[0.00e+00, 1.43e-01,  ..., 5.43e+00, 5.57e+00],
        [5.71e+00, 5.86e+00,  ..., 1.11e+01, 1.13e+01],
        ...,
        [2.17e+02, 2.17e+02,  ..., 2.23e+02, 2.23e+02],
        [2.23e+02, 2.23e+02,  ..., 2.28e+02, 2.28e+02]], dtype=torch.float64)"""),
    ("profile_overridden", np.arange(7) / 7, "float64", {}, {"profile": "short", "precision": 6}, """\
tensor([0.000000, 0.142857, 0.285714, 0.428571, 0.571429, 0.714286, 0.857143],
       dtype=torch.float64)"""),
    ("always_scientific", np.array([1.0, 2.0, 0.0]), "float32", {}, {"sci_mode": True},
     "tensor([1.0000e+00, 2.0000e+00, 0.0000e+00])"),
    ("never_scientific", np.array([1e-6, 1e6]), "float64", {}, {"sci_mode": False},
     "tensor([      0.0000, 1000000.0000], dtype=torch.float64)"),
    ("threshold_and_edges", np.arange(10), "int64", {}, {"threshold": 5, "edgeitems": 1},
     "tensor([0,  ..., 9])"),
    ("no_edges", np.ones((2, 3)), "float32", {}, {"edgeitems": 0, "threshold": 3},
     "tensor([...], size=(2, 3))"),
    ("no_edges_no_summary", np.ones((1, 3)), "float64", {}, {"edgeitems": 0},
     "tensor([[1., 1., 1.]], size=(1, 3), dtype=torch.float64)"),
    ("narrow", np.array([[1.5, 2.0], [3.0, 4.0]]), "float32", {"requires_grad": True}, {"linewidth": 12}, """\
tensor([[1.5000,
         2.0000],
        [3.0000,
         4.0000]],
       requires_grad=True)"""),
]
# fmt: on


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    text.set_printoptions(profile="default")
    yield
    text.set_printoptions(profile="default")


def show(value: Any, dtype_name: str = "float32", **further: Any) -> str:
    arguments = {
        "default_dtype_name": "float32",
        "requires_grad": False,
        "grad_fn_name": None,
        **further,
    }
    return text.tensor_text(value, dtype_name=dtype_name, **arguments)


@pytest.mark.parametrize(
    ("value", "dtype_name", "further", "options", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_recorded(
    value: Any, dtype_name: str, further: dict[str, Any], options: dict[str, Any], expected: str
) -> None:
    if isinstance(value, np.ndarray):
        value = value.astype(dtype_name)
    text.set_printoptions(**options)
    assert show(value, dtype_name, **further) == expected


@pytest.mark.parametrize(
    ("value", "dtype_name"), [(3.5, "float64"), (nan, "float64"), (True, "bool"), (-7, "int64")]
)
def test_python_number_prints_as_its_array(value: Any, dtype_name: str) -> None:
    assert show(value, dtype_name) == show(np.array(value), dtype_name)


def test_memory_order_does_not_show() -> None:
    array = np.arange(2000.0).reshape(20, 100)
    assert show(np.asfortranarray(array)) == show(array)
    assert show(array[:, ::-1][:, ::-1]) == show(array)


def test_array_is_left_alone() -> None:
    array = np.arange(2000.0)
    array.flags.writeable = False
    show(array)
    assert (array == np.arange(2000.0)).all()


def test_options_are_kept_until_changed() -> None:
    default = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    assert text.get_printoptions() == default
    text.set_printoptions(profile="full", linewidth=100)
    assert text.get_printoptions() == {**default, "threshold": inf, "linewidth": 100}
    text.set_printoptions(profile="no such profile", precision=3)
    assert text.get_printoptions() == {
        **default,
        "threshold": inf,
        "linewidth": 100,
        "precision": 3,
    }


def test_sci_mode_is_forgotten_by_the_next_call() -> None:
    text.set_printoptions(sci_mode=True)
    assert text.get_printoptions()["sci_mode"] is True
    text.set_printoptions(precision=4)
    assert text.get_printoptions()["sci_mode"] is None


def test_options_are_given_as_a_copy() -> None:
    text.get_printoptions()["precision"] = 9
    assert show(0.5) == "tensor(0.5000)"


def test_bad_precision_is_found_when_printing() -> None:
    text.set_printoptions(precision=-1)
    with pytest.raises(ValueError, match="Format specifier missing precision"):
        show(0.5)


def test_scalars_do_not_load_numpy() -> None:
    program = (
        "import sys; from gradtrace.engine.data import text as t; "
        "t.tensor_text(3.5, dtype_name='float64', default_dtype_name='float64', requires_grad=True, "
        "grad_fn_name=None); "
        "sys.exit('numpy' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode
        == 0
    )
