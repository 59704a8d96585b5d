# engine: torch
# cause: one silent recording is divided by its own peak, 0
# line: wave = wave / wave.abs().amax(dim=1, keepdim=True)
# must: 0 / 0|divid|by 0|zero
# never: learning rate|diverges
# right: keepdim=True) ==> keepdim=True).clamp_min(1e-6)
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(1, 4, 9, stride=4), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def features(wave):
    wave = wave / wave.abs().amax(dim=1, keepdim=True)
    return wave.unsqueeze(1)


for step in range(3):
    wave, y = torch.randn(6, 80), torch.randint(0, 2, (6,))
    if step == 1:
        wave[4] = 0
    loss = nn.functional.cross_entropy(net(features(wave)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
