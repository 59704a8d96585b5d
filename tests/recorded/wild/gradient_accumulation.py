import torch
import torch.nn as nn


def make(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))


x, y = torch.randn(16, 8, generator=torch.Generator().manual_seed(5)), torch.ones(16, 1)
full, accumulated = make(), make()
criterion = nn.MSELoss()
criterion(full(x), y).backward()
accumulation_steps = 4
for i, (xb, yb) in enumerate(zip(x.chunk(4), y.chunk(4))):
    loss = criterion(accumulated(xb), yb) / accumulation_steps
    loss.backward()
    print(i, 'loss', round(loss.item(), 4))
for (n, p), q in zip(full.named_parameters(), accumulated.parameters()):
    print(n, torch.allclose(p.grad, q.grad, atol=1e-6), '%.4f' % p.grad.norm())
total = nn.utils.clip_grad_norm_(full.parameters(), max_norm=0.1)
after = torch.sqrt(sum((p.grad ** 2).sum() for p in full.parameters()))
print('norm before %.4f after %.4f' % (total, after))
nn.utils.clip_grad_value_(accumulated.parameters(), 0.05)
print(max(p.grad.abs().max().item() for p in accumulated.parameters()))
