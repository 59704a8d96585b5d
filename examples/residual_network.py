# Six equal blocks, a head and a loss: large enough that its picture is better folded.
#     gradtrace graph examples/residual_network.py -o network.svg              (what fits)
#     gradtrace graph examples/residual_network.py --depth 1 -o network.svg    (the modules of the network)
#     gradtrace graph examples/residual_network.py -o network.html             (to fold and unfold, and to play)
import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return x + torch.tanh(self.linear(x))


class Network(nn.Module):
    def __init__(self, size, blocks):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(size) for _ in range(blocks)])
        self.head = nn.Linear(size, 1)

    def forward(self, x):
        return self.head(self.blocks(x))


net = Network(4, 6)
x = torch.randn(5, 4)
loss = net(x).pow(2).mean()
loss.backward()
print(loss.shape, sum(p.numel() for p in net.parameters()))
print(all(p.grad.shape == p.shape for p in net.parameters()))
