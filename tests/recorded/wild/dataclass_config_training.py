from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import List, Optional

import torch
import torch.nn as nn


@dataclass
class TrainConfig:
    """Everything that a run needs."""
    layers: List[int] = field(default_factory=lambda: [4, 8, 2])
    lr: float = 1e-2
    epochs: int = 5
    seed: int = 0
    name: Optional[str] = None

    def __post_init__(self):
        if self.name is None:
            self.name = '-'.join(map(str, self.layers))


def build(cfg: TrainConfig) -> nn.Sequential:
    mods = []
    for i, (a, b) in enumerate(zip(cfg.layers[:-1], cfg.layers[1:])):
        mods.append(nn.Linear(a, b))
        if i < len(cfg.layers) - 2:
            mods.append(nn.ReLU(inplace=True))
    return nn.Sequential(*mods)


def fit(cfg: TrainConfig) -> list[float]:
    torch.manual_seed(cfg.seed)
    model = build(cfg)
    x, y = torch.randn(24, 4), torch.randint(0, 2, (24,))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    history = []
    for _ in range(cfg.epochs):
        loss = nn.CrossEntropyLoss()(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
    return history


base = TrainConfig()
print(base)
print(asdict(base))
for cfg in (base, replace(base, lr=0.1), replace(base, layers=[4, 2], name=None)):
    print(cfg.name, cfg.lr, ' '.join(f'{h:.4f}' for h in fit(cfg)))
print(base == TrainConfig(), base != replace(base, seed=3))
