"""Samples of gamma numbers, which have no derivative here."""

import pytest

import gradtrace as torch


@pytest.mark.parametrize("kind", ["Gamma", "Beta", "Dirichlet"])
def test_differentiating_a_sample_is_refused(kind):
    concentration = torch.tensor([1.5, 2.0], requires_grad=True)
    arguments = (concentration,) if kind == "Dirichlet" else (concentration, torch.ones(2))
    sample = getattr(torch.distributions, kind)(*arguments).rsample()
    assert sample.requires_grad
    with pytest.raises(RuntimeError, match="does not differentiate samples made of gamma numbers"):
        sample.sum().backward()
