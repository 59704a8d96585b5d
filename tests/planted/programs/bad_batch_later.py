# engine: gradtrace
# line: targets[17] = float("nan")
# must: nan
# must: step 5|batch 4|targets
# never: smaller lr|overshoot
import torch
import torch.nn as nn

torch.manual_seed(0)
inputs = torch.randn(24, 3)
targets = inputs.sum(1, keepdim=True)
targets[17] = float("nan")

model = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

batch_size = 4
for start in range(0, 24, batch_size):
    xb = inputs[start:start + batch_size]
    yb = targets[start:start + batch_size]
    pred = model(xb)
    loss = loss_fn(pred, yb)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(start, loss.item())
