# engine: gradtrace
# ask: experts.1.weight
# line: best = outputs.max(dim=0).values
# must: max
# must: chose|choose|winner|other
# must: logsumexp|softmax|soft
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)
experts = nn.ModuleList([nn.Linear(2, 1) for _ in range(3)])
with torch.no_grad():
    experts[0].bias.fill_(50.0)
x = torch.randn(5, 2)
y = torch.randn(5, 1)
opt = torch.optim.SGD(experts.parameters(), lr=1e-4)
for step in range(3):
    outputs = torch.stack([expert(x) for expert in experts])
    best = outputs.max(dim=0).values
    loss = ((best - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
print(experts[1].weight.grad)
