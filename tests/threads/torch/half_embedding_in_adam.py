# engine: torch
# line: opt.step()
# must: embed.weight is nan in step 1
# never: Checked:
# never: log_softmax
import torch
from torch import nn
torch.manual_seed(0)
embed = nn.Embedding(50, 8).half()
head = nn.Linear(8, 4).half()
opt = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=1e-3, foreach=False)
for step in range(3):
    ids = torch.randint(0, 50, (8,))
    loss = nn.functional.cross_entropy(head(embed(ids)).float(), ids % 4)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), embed.weight.isnan().sum().item())
