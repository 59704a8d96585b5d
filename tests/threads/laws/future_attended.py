import torch
from torch import nn
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True); emb = nn.Embedding(20, 16); head = nn.Linear(16, 20)
opt = torch.optim.Adam([*layer.parameters(), *emb.parameters(), *head.parameters()], lr=1e-3)
mask = torch.tril(torch.ones(7, 7)).bool()
for step in range(4):
    ids = torch.randint(0, 20, (8, 8))
    out = head(layer(emb(ids[:, :-1]), src_mask=mask))
    loss = nn.functional.cross_entropy(out.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
