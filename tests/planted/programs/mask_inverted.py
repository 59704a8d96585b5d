# engine: gradtrace
# ask: tagger.weight
# line: pad_mask = (tokens == 0).float()
# line: loss = (losses * pad_mask).sum() / pad_mask.sum().clamp(min=1)
# must: mask
# must: 0
# must: way round|invert|other way|opposite|!= 0|1 -|look at
# never: smaller lr|dead
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
emb = torch.randn(9, 4)
tagger = nn.Linear(4, 3)
tokens = torch.tensor([[3, 5, 1, 7], [2, 2, 8, 4]])
tags = torch.tensor([[0, 1, 1, 2], [2, 0, 1, 1]])
pad_mask = (tokens == 0).float()

features = emb[tokens]
logits = tagger(features)
losses = F.cross_entropy(logits.view(-1, 3), tags.view(-1), reduction="none").view(2, 4)
loss = (losses * pad_mask).sum() / pad_mask.sum().clamp(min=1)
loss.backward()
print(loss.item())
print(tagger.weight.grad)
