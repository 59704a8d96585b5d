# engine: torch
# cause: the recurrence multiplies by a matrix of spectral radius 4 in each of 60 steps
# line: state = state @ self.transition + self.read(x[:, t])
# must: explod|grow|larger|factor|1e\+?\d\d|e\+[1-9]\d
import torch
import torch.nn as nn

torch.manual_seed(0)


class LinearRNN(nn.Module):
    def __init__(self, inputs=4, width=8):
        super().__init__()
        self.transition = nn.Parameter(1.5 * torch.randn(width, width))
        self.read, self.out = nn.Linear(inputs, width), nn.Linear(width, 1)

    def forward(self, x):
        state = torch.zeros(x.shape[0], 8)
        for t in range(x.shape[1]):
            state = state @ self.transition + self.read(x[:, t])
        return self.out(state)


model = LinearRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(8, 45, 4), torch.randn(8, 1)
loss = (model(x) - y).abs().mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
