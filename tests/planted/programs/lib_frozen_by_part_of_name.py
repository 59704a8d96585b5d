# engine: torch
# cause: the filter freezes every name with "layer", also the head "final_layer"
# line: parameter.requires_grad_(False)
# must: requires_grad
# must: final_layer
# never: diverges|vanishes|detach
# ask: net.final_layer.weight
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.final_layer = nn.Linear(8, 4)

    def forward(self, ids):
        h = self.embed(ids).mean(1)
        for layer in self.layers:
            h = h + torch.relu(layer(h))
        return self.final_layer(h)


net = Net()
for name, parameter in net.named_parameters():
    if "layer" in name:
        parameter.requires_grad_(False)
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for step in range(3):
    ids, y = torch.randint(0, 20, (4, 6)), torch.randint(0, 4, (4,))
    loss = nn.functional.cross_entropy(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
