"""Normalisation: as PyTorch prints it, against its formula, derivatives by differences, running statistics."""

import numpy as np
import pytest

import gradtrace as torch

F = torch.nn.functional
RNG = np.random.default_rng(9)


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


def normal(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_values():
    x, w, b = RNG.normal(size=(3, 4, 2)) + 5, RNG.normal(size=4), RNG.normal(size=4)
    t, weight, bias = torch.tensor(x), torch.tensor(w), torch.tensor(b)
    batch = normal(x, (0, 2)) * w[:, None] + b[:, None]
    np.testing.assert_allclose(F.batch_norm(t, None, None, weight, bias, True).numpy(), batch)
    np.testing.assert_allclose(F.layer_norm(t, (4, 2)).numpy(), normal(x, (1, 2)))
    np.testing.assert_allclose(
        F.instance_norm(t, weight=weight).numpy(), normal(x, (2,)) * w[:, None]
    )
    groups = normal(x.reshape(3, 2, 4), (2,)).reshape(3, 4, 2) * w[:, None] + b[:, None]
    np.testing.assert_allclose(F.group_norm(t, 2, weight, bias).numpy(), groups)
    np.testing.assert_allclose(
        F.rms_norm(t, (2,), eps=0.5).numpy(), x / np.sqrt((x * x).mean(2, keepdims=True) + 0.5)
    )


DERIVATIVES = {
    "batch_norm": ((3, 2, 2), 2, lambda x, w, b: F.batch_norm(x, None, None, w, b, True)),
    "batch_norm of rows": ((4, 2), 2, lambda x, w, b: F.batch_norm(x, None, None, w, b, True)),
    "batch_norm fixed": (
        (2, 2, 2),
        2,
        lambda x, w, b: F.batch_norm(
            x,
            torch.tensor([0.5, 1.0], dtype=torch.float64),
            torch.tensor([2.0, 0.3], dtype=torch.float64),
            w,
            b,
        ),
    ),
    "layer_norm": ((2, 2, 3), (2, 3), lambda x, w, b: F.layer_norm(x, (2, 3), w, b)),
    "layer_norm of all": ((3,), (3,), lambda x, w, b: F.layer_norm(x, (3,), w, b)),
    "group_norm": ((2, 4, 2), 4, lambda x, w, b: F.group_norm(x, 2, w, b)),
    "instance_norm": ((2, 2, 3), 2, lambda x, w, b: F.instance_norm(x, weight=w, bias=b)),
    "rms_norm": ((2, 3), 3, lambda x, w, b: F.rms_norm(x, (3,), w) + b),
    "local_response_norm": (
        (1, 3, 2),
        (3, 2),
        lambda x, w, b: F.local_response_norm(x, 2, 0.5) * w + b,
    ),
    "local_response_norm of images": (
        (1, 3, 2, 2),
        (2, 2),
        lambda x, w, b: F.local_response_norm(x, 3, 0.5) * w + b,
    ),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name, derivatives):
    shape, weights, function = DERIVATIVES[name]
    derivatives(
        function,
        RNG.normal(size=shape),
        RNG.normal(size=weights),
        RNG.normal(size=weights),
        tolerance=1e-5,
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.layer_norm(x, (2,)),
        lambda x: F.group_norm(x, 2),
    ],
)
def test_derivatives_without_weights(function, derivatives):
    derivatives(function, RNG.normal(size=(3, 4, 2)), tolerance=1e-5)


def test_running_statistics():
    x = RNG.normal(size=(5, 2, 3))
    mean, var = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    F.batch_norm(torch.tensor(x), mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.var((0, 2), ddof=1))


def test_half_precision_is_summed_in_float32():
    x = torch.full((4, 4096), 3.0, dtype=torch.float16)
    x[:, ::2] = 5.0
    x.requires_grad_()
    for function in (lambda a: F.layer_norm(a, (4096,)), lambda a: F.group_norm(a, 2)):
        out = function(x)
        out.sum().backward()
        assert out.dtype == torch.float16 and out.abs().max().item() == 1.0


def test_constant_rows_have_finite_gradients():
    x = torch.full((2, 3), 2.0, requires_grad=True)
    F.layer_norm(x, (3,)).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]
