# engine: torch
# ask: b.weight
# must: a\.weight, which is 0
# never: dropped every element
import torch

torch.manual_seed(0)
a, b = torch.nn.Linear(8, 4, bias=False), torch.nn.Linear(4, 8, bias=False)
drop = torch.nn.Dropout(0.05)
torch.nn.init.zeros_(a.weight)
torch.nn.init.normal_(b.weight)
opt = torch.optim.SGD([a.weight, b.weight], lr=0.1)
x = torch.randn(16, 8)
for step in range(2):
    loss = (x + b(a(drop(x)))).pow(2).mean()
    opt.zero_grad()
    loss.backward()
