# engine: torch
# must: Checked:
# never: zero_grad|accumulate
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 2, 4)
opt.zero_grad()
for i in range(4):
    loss = model(x[i]).pow(2).mean() / 4
    loss.backward()
opt.step()
