# engine: torch
# cause: log_softmax goes over the tokens of a sentence, not over the tags
# line: return self.out(h).log_softmax(1)
# must: log_softmax
# must: dim=|over
# must: -1|classes
# never: diverges|vanishes
# right: log_softmax(1) ==> log_softmax(-1)
import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(30, 16), nn.LSTM(16, 16, batch_first=True)
        self.out = nn.Linear(16, 5)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h).log_softmax(1)


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(3):
    tokens, tags = torch.randint(0, 30, (4, 7)), torch.randint(0, 5, (4, 7))
    loss = nn.functional.nll_loss(model(tokens).flatten(0, 1), tags.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
