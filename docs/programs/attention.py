import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))

    def forward(self, x, padding):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        scores = scores.masked_fill(padding[:, None], float("-inf"))
        return scores.softmax(-1) @ self.value(x)


torch.manual_seed(0)
attention, head = Attention(16), nn.Linear(16, 2)
optimizer = torch.optim.AdamW([*attention.parameters(), *head.parameters()], lr=1e-3)
lengths = torch.tensor([[5, 3], [4, 5], [2, 0], [1, 4]])  # of the sentences in each batch
for batch in lengths:
    words, padding = torch.randn(2, 5, 16), torch.arange(5) >= batch[:, None]
    loss = nn.functional.cross_entropy(
        head(attention(words, padding).mean(1)), torch.tensor([0, 1])
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
