# engine: torch
# cause: the scale of block 0 is initialised as 1/sqrt(0) = inf
# line: scale = (torch.arange(blocks) * 2.0).rsqrt()
# must: inf
# must: rsqrt
# must: 0|zero|scale
import torch
import torch.nn as nn

torch.manual_seed(0)


class Deep(nn.Module):
    """Residual blocks with a scale that falls with depth."""

    def __init__(self, blocks=4, width=8):
        super().__init__()
        scale = (torch.arange(blocks) * 2.0).rsqrt()
        self.scale = nn.Parameter(scale)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(blocks))

    def forward(self, x):
        for scale, block in zip(self.scale, self.blocks):
            x = x + scale * torch.tanh(block(x))
        return x


model = Deep()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(16, 8), torch.randn(16, 8)
loss = (model(x) - y).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
