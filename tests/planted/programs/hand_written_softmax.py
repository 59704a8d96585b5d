# engine: torch
# cause: the softmax without subtracting the maximum overflows in exp: inf / inf is nan
# line: weights = scores.exp()
# must: exp
# must: inf
# never: divi\w+ by zero
import torch
import torch.nn as nn

torch.manual_seed(0)


class Pointer(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        weights = scores.exp()
        weights = weights / weights.sum(-1, keepdim=True)
        return self.out(weights @ x).squeeze(-1)


model = Pointer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = 30 * torch.randn(2, 6, 16)
target = torch.randn(2, 6)
for step in range(2):
    loss = (model(x) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
