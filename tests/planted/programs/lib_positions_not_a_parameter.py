# engine: torch
# cause: the positions are a tensor, not a Parameter, so the optimizer does not get them
# line: self.pos = torch.zeros(1, 10, 16, requires_grad=True)
# line: opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
# must: pos
# must: Parameter|does not hold|not hold
# never: zeroed between|diverges|vanishes
# right: torch.zeros(1, 10, 16, requires_grad=True) ==> nn.Parameter(torch.zeros(1, 10, 16))
import torch
from torch import nn

torch.manual_seed(0)


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(1, 16, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, 16))
        self.pos = torch.zeros(1, 10, 16, requires_grad=True)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        patches = self.patch(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), patches], 1) + self.pos
        return self.head(self.block(tokens)[:, 0])


model = ViT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    x, y = torch.randn(4, 1, 12, 12), torch.randint(0, 3, (4,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
