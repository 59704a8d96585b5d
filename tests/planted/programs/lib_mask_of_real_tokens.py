# engine: torch
# cause: the mask's sign is wrong: the real tokens are masked, and a full row has none left
# line: scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
# must: mask
# must: ~|invert|wrong way|every|all
# never: learning rate|diverges
# right: mask.unsqueeze(1) ==> ~mask.unsqueeze(1)
import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 8**0.5
        scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
        return torch.softmax(scores, dim=-1) @ self.v(x)


net, head = Attention(), nn.Linear(8, 2)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
lengths = torch.tensor([5, 3, 4])
mask = torch.arange(5) < lengths[:, None]
for step in range(3):
    x, y = torch.randn(3, 5, 8), torch.randint(0, 2, (3,))
    loss = nn.functional.cross_entropy(head(net(x, mask).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
