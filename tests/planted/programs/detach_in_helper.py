# engine: torch
# cause: a pooling helper in another file detaches its input, so the encoder gets no gradient
# line: pooling_helper.py: hidden = hidden.detach()
# must: detach
# must: encoder|model.embed
# must: None|no gradient
import torch
import torch.nn as nn
import torch.nn.functional as F
from pooling_helper import masked_mean

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, vocab=50, width=16, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.encoder = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        hidden = torch.tanh(self.encoder(self.embed(tokens)))
        return self.head(masked_mean(hidden, tokens != 0))


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens, labels = torch.randint(0, 50, (8, 12)), torch.randint(0, 4, (8,))
for epoch in range(2):
    loss = F.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
