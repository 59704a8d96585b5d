import torch
from torch import nn

torch.manual_seed(0)
encode, decode, codes = nn.Linear(4, 2), nn.Linear(2, 4), nn.Embedding(8, 2)
opt = torch.optim.SGD([*encode.parameters(), *decode.parameters(), *codes.parameters()], lr=0.1)
for i in range(4):
    x = torch.randn(6, 4)
    z = encode(x)
    q = codes(torch.cdist(z, codes.weight).argmin(1))
    out = decode(z + (q - z))
    loss = (out - x).pow(2).mean() + 0.25 * (z - q.detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
