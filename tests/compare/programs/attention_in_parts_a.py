import torch
import torch.nn as nn

torch.manual_seed(11)
mha = nn.MultiheadAttention(16, 4, batch_first=True)
norm = nn.LayerNorm(16)
fc = nn.Linear(16, 1)
x = torch.randn(5, 6, 16)
lengths = torch.tensor([6, 4, 5, 3, 6])
pad = torch.arange(6)[None] >= lengths[:, None]
y = torch.randn(5, 1)
params = [*mha.parameters(), *norm.parameters(), *fc.parameters()]
opt = torch.optim.SGD(params, lr=0.05)
for step in range(5):
    h, _ = mha(x, x, x, key_padding_mask=pad, need_weights=False)
    h = norm(x + h)
    h = h.masked_fill(pad[..., None], 0).sum(1) / lengths[:, None]
    loss = nn.functional.mse_loss(fc(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.6f}")
