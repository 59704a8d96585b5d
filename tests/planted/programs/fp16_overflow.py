# engine: torch
# cause: the feed-forward product exceeds 65504, float16's largest number, so it is inf
# line: hidden = self.wo(hidden)
# must: inf
# must: float16|half|fp16
# must: 65504|65,504|overflow|range|largest
# from: https://github.com/huggingface/transformers/issues/5651
import torch
import torch.nn as nn

torch.manual_seed(0)


class DenseReluDense(nn.Module):
    def __init__(self, width=64, inner=256):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wi, self.wo = nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)
        nn.init.normal_(self.wi.weight, std=2.0)
        nn.init.normal_(self.wo.weight, std=1500.0)

    def forward(self, states):
        hidden = self.wi(self.norm(states))
        hidden = torch.relu(hidden)
        hidden = self.wo(hidden)
        return states + hidden


block, final = DenseReluDense(), nn.LayerNorm(64)
states, target = torch.randn(4, 8, 64), torch.randn(4, 8, 64)
with torch.autocast("cpu", torch.float16):
    out = final(block(states))
    loss = nn.functional.mse_loss(out.float(), target)
loss.backward()
