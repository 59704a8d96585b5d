# engine: gradtrace
# line: loss.backward(retain_graph=True)
# line: out, hidden = model(x, hidden)
# must: hidden
# must: detach
# never: instead of changing this one in place
import torch
import torch.nn as nn

torch.manual_seed(0)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.i2h = nn.Linear(2 + 4, 4)
        self.h2o = nn.Linear(4, 1)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.i2h(torch.cat([x, hidden], 1)))
        return self.h2o(hidden), hidden


model = RNN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
hidden = torch.zeros(3, 4)
for step in range(4):
    x = torch.randn(3, 2)
    out, hidden = model(x, hidden)
    loss = (out - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    print(step, loss.item())
