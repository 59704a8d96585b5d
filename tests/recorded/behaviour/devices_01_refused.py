"""No tensor and no layer is made on a device that is not there; a device has a name all the same."""

import torch
from torch import nn

cuda = torch.device("cuda")
x = torch.ones(2)


def show(name, call):
    try:
        call()
        print(name, "made")
    except (AssertionError, RuntimeError):
        print(name, "refused")


for device in (cuda, "cuda", torch.device("cuda:0")):
    how = {"device": device}
    show("Linear", lambda: nn.Linear(2, 1, **how))
    show("positional", lambda: nn.Linear(2, 1, True, device))
    show("no bias", lambda: nn.Linear(2, 1, bias=False, **how))
    show("Bilinear", lambda: nn.Bilinear(2, 2, 2, **how))
    show("Conv2d", lambda: nn.Conv2d(2, 2, 1, **how))
    show("ConvTranspose1d", lambda: nn.ConvTranspose1d(2, 2, 1, **how))
    show("BatchNorm1d", lambda: nn.BatchNorm1d(2, **how))
    show("BatchNorm1d without affine", lambda: nn.BatchNorm1d(2, affine=False, **how))
    show("InstanceNorm1d", lambda: nn.InstanceNorm1d(2, affine=True, **how))
    show("InstanceNorm1d without parameters", lambda: nn.InstanceNorm1d(2, **how))
    show("LayerNorm", lambda: nn.LayerNorm(2, **how))
    show("LayerNorm without parameters", lambda: nn.LayerNorm(2, elementwise_affine=False, **how))
    show("RMSNorm", lambda: nn.RMSNorm(2, **how))
    show("GroupNorm", lambda: nn.GroupNorm(1, 2, **how))
    show("Embedding", lambda: nn.Embedding(2, 2, **how))
    show("EmbeddingBag", lambda: nn.EmbeddingBag(2, 2, **how))
    show("LSTM", lambda: nn.LSTM(2, 2, **how))
    show("GRUCell", lambda: nn.GRUCell(2, 2, **how))
    show("RNNCell", lambda: nn.RNNCell(2, 2, **how))
    show("MultiheadAttention", lambda: nn.MultiheadAttention(2, 1, **how))
    show("kdim", lambda: nn.MultiheadAttention(2, 1, kdim=3, bias=False, **how))
    show("TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(2, 1, 2, **how))
    show("Transformer", lambda: nn.Transformer(2, 1, 1, 1, 2, **how))
    show("mask", lambda: nn.Transformer.generate_square_subsequent_mask(3, **how))
    show("PReLU", lambda: nn.PReLU(**how))
    show("LazyLinear", lambda: nn.LazyLinear(2, **how))
    show("LazyBatchNorm1d", lambda: nn.LazyBatchNorm1d(**how))
    show("UninitializedParameter", lambda: nn.UninitializedParameter(**how))
    show("UninitializedParameter.to", lambda: nn.UninitializedParameter().to(device))
    show("new_full", lambda: x.new_full((2,), 1.0, **how))
    show("new_zeros", lambda: x.new_zeros(2, **how))
    show("tril_indices", lambda: torch.tril_indices(2, 2, **how))
    show("triu_indices", lambda: torch.triu_indices(2, 2, **how))
    show("hann_window", lambda: torch.hann_window(3, **how))
    show("kaiser_window", lambda: torch.kaiser_window(3, **how))
    show("signal", lambda: torch.signal.windows.hann(3, **how))


class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.inner = nn.Linear(2, 1, device="cpu")


print(Net(device=cuda).device, dict(device="cuda"), "{device}".format(device=cuda), nn.Linear(2, 1, device=None))
torch.save(x, "x.pt")
for place in (cuda, "cuda", "cuda:1", {"cpu": "cuda:0"}, {"cuda:0": "cpu"}, "cpu", torch.device("cpu"), None):
    show(f"map_location {place}", lambda: torch.load("x.pt", map_location=place))
show("map_location function", lambda: torch.load("x.pt", map_location=lambda storage, place: storage))


def tell(call):
    try:
        print(repr(call()))
    except Exception as error:
        print(type(error).__name__, error)


for name in ("cuda:0", "cuda:127", "cuda:01", "cuda:00", "cuda:", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:\u0663", "cpu:x"):
    tell(lambda: torch.device(name))
for name, index in (("cuda", 1), ("cpu", 0), ("cuda", None), ("cuda", -1), ("cuda:0", 1), ("cpu", "x"), ("cpu", True)):
    tell(lambda: torch.device(name, index))
