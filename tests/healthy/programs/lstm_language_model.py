import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.head = nn.Linear(16, 20)

    def forward(self, tokens, state=None):
        h, state = self.lstm(self.embedding(tokens), state)
        return self.head(h), state


model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
text = torch.randint(1, 20, (4, 25))
state = None
for start in range(0, 24, 8):
    x, y = text[:, start : start + 8], text[:, start + 1 : start + 9]
    if state is not None:
        state = tuple(s.detach() for s in state)
    logits, state = model(x, state)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
