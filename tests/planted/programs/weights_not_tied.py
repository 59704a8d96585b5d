# engine: torch
# cause: the head's weight is a copy of the embedding's data, not the same parameter, so they are not tied
# line: self.head.weight = nn.Parameter(self.embed.weight.data)
# must: Parameter|\.data
# must: copy|own|separate|not (the same|shared|tied)|share|new leaf|memory
# ask: model.head.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LM(nn.Module):
    def __init__(self, vocab=25, width=12):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(vocab, width), nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab, bias=False)
        # tie the weights
        self.head.weight = nn.Parameter(self.embed.weight.data)

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])


model = LM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tokens = torch.randint(0, 25, (4, 9))
for step in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
