"""An attention whose mask hides a whole sentence: scaled_dot_product_attention gives zeros there, by design."""

import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8)
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, ids):
        h = self.emb(ids)
        mask = (ids != 0)[:, None, :]
        h = F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h), attn_mask=mask)
        return self.head(h[:, 0])


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
ids = torch.randint(1, 20, (4, 6))
ids[2] = 0
y = torch.randint(0, 3, (4,))
for step in range(3):
    loss = F.cross_entropy(model(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
