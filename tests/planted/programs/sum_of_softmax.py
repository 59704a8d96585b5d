# engine: torch
# cause: the sum of a softmax is always 1, so the gradients of its terms cancel
# line: confidence = probs.sum(-1).mean()
# line: probs = torch.softmax(model(x), dim=-1)
# must: softmax
# must: cancel|always 1|sum\w* to 1|constant
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12, dtype=torch.float64), nn.Tanh(), nn.Linear(12, 4, dtype=torch.float64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 6, dtype=torch.float64)
for step in range(2):
    probs = torch.softmax(model(x), dim=-1)
    confidence = probs.sum(-1).mean()
    loss = 1.5 - confidence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
