# engine: torch
# cause: sentence 3 is padding alone, so MultiheadAttention's softmax runs over a row of -inf
# line: tokens[3] = 0
# line: h, weights = self.attention(h, h, h, key_padding_mask=pad)
# must: nan|not finite
# must: -inf|mask|padding
# from: https://github.com/pytorch/pytorch/issues/24816
import torch
import torch.nn as nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(100, width, padding_idx=0)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 5)

    def forward(self, tokens):
        pad = tokens == 0
        h = self.norm(self.embed(tokens))
        h, weights = self.attention(h, h, h, key_padding_mask=pad)
        return self.head(h.mean(1)), weights


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
tokens = torch.randint(1, 100, (8, 12))
tokens[3] = 0
labels = torch.randint(0, 5, (8,))
logits, weights = model(tokens)
loss = nn.functional.cross_entropy(logits, labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
