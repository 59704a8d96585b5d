# engine: torch
# line: d = vec / length
# must: divides 0 by length
# never: before anything is computed
import torch

torch.manual_seed(0)


@torch.jit.script
def harmonics(x, y, z):
    return torch.stack([torch.ones_like(x), x, y, z, x * y, y * z, z.pow(2) - x.pow(2)], dim=-1)


class Mix(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 7))

    def forward(self, features, sh):
        return torch.einsum("zu,uv,zv->zv", features, self.weight, sh)


pos = torch.randn(7, 3)
close = torch.cdist(pos, pos) < 2.0
src, dst = close.nonzero().T
vec = pos[dst] - pos[src]
length = vec.norm(dim=1, keepdim=True)
d = vec / length
sh = harmonics(d[:, 0], d[:, 1], d[:, 2])
mix = Mix()
m = mix(torch.randn(len(src), 8), sh)
print(m.isnan().sum(0))
