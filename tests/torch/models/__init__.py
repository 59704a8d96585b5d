"""Real models as small builders: each makes a seeded model, its batch and one training step of under a second.

    case = MODELS["gpt2"]()
    loss = case.step()

A builder that needs a package which is not installed raises ImportError.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.torch.models import features, language, science, vision
from tests.torch.models.case import Case

MODELS: dict[str, Callable[[], Case]] = {
    "gpt2": language.gpt2,
    "bert": language.bert,
    "t5": language.t5,
    "lora": language.lora,
    "lstm": language.lstm,
    "mixture of experts": language.mixture_of_experts,
    "resnet": vision.resnet,
    "vit": vision.vit,
    "unet": vision.unet,
    "diffusion": vision.diffusion,
    "gan": vision.gan,
    "graph network": science.graph_network,
    "pinn": science.pinn,
    "grad scaler": science.grad_scaler,
}

FEATURES: dict[str, Callable[[], Case]] = features.FEATURES

__all__ = ["Case", "FEATURES", "MODELS"]
