# engine: torch
# cause: reentrant checkpointing of a block whose input does not require grad (frozen embedding) gives no graph
# line: h = checkpoint(block, h, use_reentrant=True)
# must: checkpoint
# must: reentrant
# from: https://github.com/huggingface/transformers/issues/26221
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, width, rank=2):
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, width) * 0.1)
        self.b = nn.Parameter(torch.zeros(width, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


class Model(nn.Module):
    def __init__(self, vocab=40, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width).requires_grad_(False)
        self.blocks = nn.ModuleList(LoRALinear(width) for _ in range(2))
        self.head = nn.Linear(width, vocab).requires_grad_(False)

    def forward(self, tokens):
        h = self.embed(tokens)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=True)
        return self.head(h)


model = Model()
tokens = torch.randint(0, 40, (4, 9))
loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
loss.backward()
