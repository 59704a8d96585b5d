from enum import Enum, auto
from dataclasses import dataclass
import torch
import torch.nn as nn


class Activation(Enum):
    RELU = auto()
    TANH = auto()
    NONE = auto()


@dataclass(frozen=True)
class Dense:
    units: int
    act: Activation = Activation.RELU


@dataclass(frozen=True)
class Drop:
    p: float = 0.5


def build(n_in, spec):
    layers = []
    for item in spec:
        match item:
            case Dense(units=n, act=Activation.NONE):
                layers.append(nn.Linear(n_in, n))
                n_in = n
            case Dense(n, act):
                layers += [nn.Linear(n_in, n), {Activation.RELU: nn.ReLU, Activation.TANH: nn.Tanh}[act]()]
                n_in = n
            case Drop(p) if p > 0:
                layers.append(nn.Dropout(p))
            case Drop():
                pass
            case ("flatten" | "flat", *rest):
                layers.append(nn.Flatten(*rest))
            case {"kind": kind, **options}:
                layers.append(getattr(nn, kind)(**options))
            case int() | float() as number:
                raise ValueError(f"a number: {number}")
            case _:
                raise TypeError(f"unknown {item!r}")
    return nn.Sequential(*layers)


torch.manual_seed(0)
net = build(4, [("flat",), Dense(5), Drop(0.0), Drop(0.2), {"kind": "LayerNorm", "normalized_shape": 5},
                Dense(3, Activation.TANH), Dense(1, Activation.NONE)])
print(net)
net.eval()
print(net(torch.ones(2, 2, 2)).shape, [a.name for a in Activation], Activation(2), Activation['NONE'].value)
for bad in (3, 2.5, None, "x"):
    try:
        build(2, [bad])
    except (ValueError, TypeError) as err:
        print(type(err).__name__, err)
