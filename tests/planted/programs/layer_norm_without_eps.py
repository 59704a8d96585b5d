# engine: torch
# cause: a constant row has variance 0, and the hand-written layer norm divides by its root without eps
# line: return self.gain * (x - mean) / var.sqrt()
# must: nan|not finite
# must: sqrt|div|0 ?/ ?0|zero
import torch
import torch.nn as nn

torch.manual_seed(0)


class LayerNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = (x - mean).pow(2).mean(-1, keepdim=True)
        return self.gain * (x - mean) / var.sqrt()


embed, norm, head = nn.Embedding(20, 8, padding_idx=0), LayerNorm(8), nn.Linear(8, 2)
parameters = [*embed.parameters(), *norm.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
tokens = torch.randint(1, 20, (4, 6))
# padding, whose embedding is all zeros
tokens[1, 4:] = 0
loss = nn.functional.cross_entropy(head(norm(embed(tokens)).mean(1)), torch.randint(0, 2, (4,)))
optimizer.zero_grad()
loss.backward()
optimizer.step()
