"""Counts of public models are the published ones: torchvision's table of ResNet-50 (25.6 M parameters, 4.09
GFLOPS), transformers' GPT-2 and BERT. Nothing is computed: their tensors are on the device "meta"."""

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")
from torch import nn  # noqa: E402

from gradtrace.analysis.model_summary import model_summary  # noqa: E402


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.skip = nn.Identity()
        if inputs != outputs:
            self.skip = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if number == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def counted(make, make_input):
    with torch.device("meta"):
        model, x = make(), make_input()
    with gt.record(level="structure") as recorded:
        model(x)
    return model_summary(recorded.trace())


def test_resnet50():
    summary = counted(resnet50, lambda: torch.empty(1, 3, 224, 224))
    assert summary.parameters == 25_557_032
    assert summary.multiplications == 4_089_184_256
    assert summary.input == (1, 3, 224, 224)


@pytest.mark.parametrize(
    "name, parameters", [("GPT2", 124_439_808), ("Bert", 109_482_240)], ids=lambda value: str(value)
)
def test_language_models(name, parameters):
    transformers = pytest.importorskip("transformers")
    model = getattr(transformers, f"{name}Model")
    settings = getattr(transformers, f"{name}Config")()
    summary = counted(lambda: model(settings), lambda: torch.zeros(1, 128, dtype=torch.long))
    assert summary.parameters == parameters
    # 12 blocks of 12 w * w for each of 128 tokens, and attention of 128 keys; BERT's pooler
    width = 768
    blocks = 12 * (128 * 12 * width * width + 2 * 128 * 128 * width)
    assert summary.multiplications == blocks + (width * width if name == "Bert" else 0)
