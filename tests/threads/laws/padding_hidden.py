import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
embedding = nn.Embedding(20, 4)
head = nn.Linear(4, 2)
opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
for i in range(4):
    ids = torch.randint(1, 20, (6, 5))
    ids[:, 3:] = 0
    ids[0, 2] = 0
    h = embedding(ids)
    mask = ids == 0
    scores = (h @ h.transpose(1, 2)).masked_fill(mask[:, None, :], float("-inf"))
    loss = F.cross_entropy(head((scores.softmax(-1) @ h).mean(1)), torch.arange(6) % 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
