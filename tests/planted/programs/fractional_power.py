# engine: torch
# cause: a negative number to the power 1.5 is nan
# line: drag = velocity**1.5
# must: nan|not finite
# must: negative|< 0|below (0|zero)
# must: pow|\*\*|power|1\.5
import torch
import torch.nn as nn

torch.manual_seed(0)
simulator = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(simulator.parameters(), lr=1e-3)
state, observed = torch.randn(12, 4), torch.rand(12, 2)
for step in range(2):
    velocity = simulator(state)
    drag = velocity**1.5
    loss = (0.5 * drag - observed).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
