# engine: torch
# cause: the hidden state of one chunk of text goes on into the next with its graph, which backward has freed
# line: output, hidden = self.rnn(self.embed(tokens), hidden)
# line: logits, hidden = model(chunk[:, :-1], hidden)
# must: hidden
# must: detach
# must: second time|freed|step 1|graph of|earlier
# from: https://learn.biosrag.com/ai/rnn-training-4.html
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CharRNN(nn.Module):
    def __init__(self, vocab=30, width=24):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(vocab, width), nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.embed(tokens), hidden)
        return self.out(output), hidden


model = CharRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
text = torch.randint(0, 30, (4, 33))
hidden = torch.zeros(1, 4, 24)
for chunk in text.split(11, dim=1):
    logits, hidden = model(chunk[:, :-1], hidden)
    loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
