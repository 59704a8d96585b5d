import torch
from torch import nn
torch.manual_seed(0)
emb = nn.Embedding(50, 16); fc = nn.Linear(16, 2)
opt = torch.optim.Adam([*emb.parameters(), *fc.parameters()], lr=1e-2)
for step in range(5):
    ids = torch.randint(0, 50, (10, 10)); y = torch.randint(0, 2, (10,))
    h = emb(ids).mean(0)
    loss = nn.functional.cross_entropy(fc(h), y)
    opt.zero_grad(); loss.backward(); opt.step()
