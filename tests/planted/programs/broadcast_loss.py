# engine: gradtrace
# line: loss = loss_fn(pred, y)
# must: \(16, 1\)|16, 1
# must: broadcast
# must: squeeze|unsqueeze|view
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(16, 3)
y = x @ torch.tensor([1.0, 2.0, -1.0])
model = nn.Linear(3, 1)
loss_fn = nn.MSELoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    pred = model(x)
    loss = loss_fn(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
