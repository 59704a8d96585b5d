# engine: torch
# cause: the auxiliary head is made but forward never calls it, so its parameters stay without gradient
# line: self.aux_head = nn.Linear(width, 7)
# must: aux_head
# must: not used|unused|never used|no operation|not (part|used)|does not depend|takes no part
# from: https://github.com/pytorch/pytorch/issues/57776
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TwoHeads(nn.Module):
    def __init__(self, features=12, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.ReLU())
        self.main_head = nn.Linear(width, 3)
        self.aux_head = nn.Linear(width, 7)

    def forward(self, x):
        h = self.body(x)
        main = self.main_head(h)
        aux = self.main_head(h)
        return main, aux


model = TwoHeads()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(16, 12), torch.randint(0, 3, (16,))
main, aux = model(x)
loss = F.cross_entropy(main, y) + 0.3 * F.cross_entropy(aux, y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
