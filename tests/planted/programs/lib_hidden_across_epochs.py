# engine: torch
# cause: the hidden state is made once, and goes from one epoch into the next with its graph
# line: out, state = self.rnn(self.embed(tokens), state)
# line: logits, state = model(text[:, :-1], state)
# must: state
# must: detach
# must: second time|freed|step 1|graph
# never: retain_graph=True$
import torch
from torch import nn

torch.manual_seed(0)


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(30, 16), nn.LSTM(16, 16, batch_first=True), nn.Linear(16, 30)

    def forward(self, tokens, state):
        out, state = self.rnn(self.embed(tokens), state)
        return self.head(out), state


model = LanguageModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
text = torch.randint(0, 30, (4, 12))
state = None
for epoch in range(3):
    logits, state = model(text[:, :-1], state)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
