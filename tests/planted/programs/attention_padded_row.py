# engine: gradtrace
# line: scores = scores.masked_fill(mask == 0, float("-inf"))
# line: weights = F.softmax(scores, dim=-1)
# must: -inf
# must: softmax
# must: all|every|nothing
# never: smaller lr|learning rate
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.dim = dim

    def forward(self, x, mask):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dim)
        scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return weights @ v


x = torch.randn(2, 3, 4)
lengths = [3, 0]
mask = torch.zeros(2, 1, 3)
for i, n in enumerate(lengths):
    mask[i, :, :n] = 1
attention = Attention(4)
head = nn.Linear(4, 1)
out = head(attention(x, mask)).mean()
out.backward()
print(out)
