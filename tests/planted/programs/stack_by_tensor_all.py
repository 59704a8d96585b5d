# engine: gradtrace
# line: pred = torch.tensor([model(x) for x in xs])
# must: torch.stack|torch.cat
# must: graph|history
# never: requires_grad_\(\)|let pred require|let xs require
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
xs = [torch.randn(2) for _ in range(5)]
ys = torch.tensor([x.sum() for x in xs])

for epoch in range(3):
    pred = torch.tensor([model(x) for x in xs])
    loss = nn.functional.mse_loss(pred, ys)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
