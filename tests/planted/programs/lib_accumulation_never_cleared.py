# engine: torch
# cause: accumulation over two micro-batches, but the gradients are never cleared
# line: trainer.step()
# line: (loss / 2).backward()
# must: zero_grad
# must: trainer\.zero_grad\(\)
# never: optimizer\.|diverges|vanishes
# right: trainer.step() ==> trainer.step(); trainer.zero_grad()
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 2))
trainer = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(8):
    x, y = torch.randn(6, 5), torch.randint(0, 2, (6,))
    loss = nn.functional.cross_entropy(net(x), y)
    (loss / 2).backward()
    if i % 2 == 1:
        trainer.step()
