import torch
import torch.nn as nn

torch.manual_seed(1)
att = nn.MultiheadAttention(4, 1, batch_first=True)
q, k, v = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
for m, w, b in zip((q, k, v), att.in_proj_weight.detach().chunk(3), att.in_proj_bias.detach().chunk(3)):
    m.weight.data.copy_(w)
    m.bias.data.copy_(b)
torch.manual_seed(2)
x = torch.randn(3, 5, 4)
y = torch.randn(3, 5, 4)
net = nn.ModuleList([q, k, v, att.out_proj])
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(3):
    w = (q(x) @ k(x).mT / 2).softmax(-1)
    loss = (att.out_proj(w @ v(x)) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", loss.item())
