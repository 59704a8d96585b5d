# engine: torch
# cause: the losses are copied as numbers into a new leaf, at which backward ends
# line: loss = torch.tensor([one.item() for one in losses], requires_grad=True).mean()
# must: numbers
# must: stack
# never: loss with model instead|torch.s tensors|one\.item\(\) for one in losses\]\) joins
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 2)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(3):
    losses = []
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randn(8, 2)
        losses.append(((model(x) - y) ** 2).mean())
    loss = torch.tensor([one.item() for one in losses], requires_grad=True).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
