# engine: torch
# cause: the backward of a fused SwiGLU leaves out the derivative of the sigmoid
# line: return grad * up * torch.sigmoid(gate), grad * torch.nn.functional.silu(gate)
# must: SwiGLU
# must: finite differences|not the derivative|derive
# never: diverges|vanishes|learning rate
# right: grad * up * torch.sigmoid(gate),  ==> grad * up * torch.sigmoid(gate) * (1 + gate * (1 - torch.sigmoid(gate))), 
import torch
from torch import nn

torch.manual_seed(0)


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        return grad * up * torch.sigmoid(gate), grad * torch.nn.functional.silu(gate)


class MLP(nn.Module):
    def __init__(self, width=32, inner=128):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(SwiGLU.apply(self.gate(h), self.up(h)))


model = nn.Sequential(nn.Embedding(40, 32), MLP(), MLP(), nn.Linear(32, 40))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
tokens = torch.randint(0, 40, (4, 17))
for step in range(3):
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
