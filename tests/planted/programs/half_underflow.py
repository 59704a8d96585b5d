# engine: torch
# cause: the loss of some 1e-4 is scaled down further and its gradients underflow to 0 in float16
# line: loss = (out - y.half()).pow(2).mean() * 1e-6
# must: underflow|too small|smallest
# must: float16|half
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 8).half(), torch.zeros(64, 1)
for step in range(2):
    out = model(x)
    loss = (out - y.half()).pow(2).mean() * 1e-6
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
