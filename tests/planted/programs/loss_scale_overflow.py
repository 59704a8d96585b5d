# engine: torch
# cause: the loss scale of 2**24 makes the gradients in float16 inf
# line: scaled = loss * 2.0**24
# must: inf
# must: scale|2.0\*\*24|16777216|1\.67\d*e\+?0?7
# must: float16|half
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 16).half(), torch.randint(0, 4, (32,))
logits = model(x)
loss = nn.functional.cross_entropy(logits.float(), y)
optimizer.zero_grad()
scaled = loss * 2.0**24
scaled.backward()
for parameter in model.parameters():
    parameter.grad.div_(2.0**24)
optimizer.step()
