import torch
import torch.nn as nn

torch.manual_seed(1)
att = nn.MultiheadAttention(4, 1, batch_first=True)
torch.manual_seed(2)
x = torch.randn(3, 5, 4)
y = torch.randn(3, 5, 4)
opt = torch.optim.Adam(att.parameters(), lr=0.01)
for i in range(3):
    loss = (att(x, x, x)[0] - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", loss.item())
