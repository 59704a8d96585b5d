# engine: torch
# cause: sentence 3 has length 0, so its whole attention row is -inf and softmax gives nan
# line: weights = scores.softmax(-1)
# line: scores = scores.masked_fill(padding[:, None, None, :], float("-inf"))
# must: nan|not finite
# must: -inf
# must: softmax
# must: whole|all|every|entire|only -inf|nothing
# from: https://github.com/pytorch/pytorch/issues/41508
import torch
import torch.nn as nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, padding):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(padding[:, None, None, :], float("-inf"))
        weights = scores.softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


attention = Attention()
x = torch.randn(6, 10, 32)
lengths = torch.tensor([10, 7, 9, 0, 10, 2])
padding = torch.arange(10)[None] >= lengths[:, None]
loss = attention(x, padding).pow(2).mean()
loss.backward()
