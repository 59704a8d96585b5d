# engine: torch
# cause: the padding mask leaves nothing of the third sentence
# line: pad = ids == 0
# must: every element is -inf
# must: mask pad
# never: learning rate|smaller lr
# right: ids[2] = 0 ==> ids[2, 1:] = 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8)
        self.att = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, ids):
        pad = ids == 0
        h = self.emb(ids)
        h, _ = self.att(h, h, h, key_padding_mask=pad)
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
