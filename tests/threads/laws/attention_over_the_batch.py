import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
emb, layer, head = nn.Embedding(30, 16), nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0), nn.Linear(16, 2)
opt = torch.optim.Adam([*emb.parameters(), *layer.parameters(), *head.parameters()], lr=1e-3)
for step in range(5):
    ids = torch.randint(0, 30, (12, 7)); y = (ids.sum(1) % 2)
    loss = F.cross_entropy(head(layer(emb(ids)).mean(1)), y)
    opt.zero_grad(); loss.backward(); opt.step()
