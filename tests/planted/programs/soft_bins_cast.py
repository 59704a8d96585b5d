# engine: torch
# cause: .long() turns the positions into integers, which pass no gradient to the offsets
# line: column = (grid + offset(image)).clamp(0, 15).long()
# must: long|int64|integer
# must: offset
import torch
import torch.nn as nn

torch.manual_seed(0)
offset = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv1d(4, 1, 3, padding=1))
gain = nn.Parameter(torch.ones(1))
optimizer = torch.optim.Adam([*offset.parameters(), gain], lr=1e-2)
image, target = torch.randn(2, 1, 16), torch.randn(2, 1, 16)
grid = torch.arange(16.0).expand(2, 1, 16)
for step in range(2):
    column = (grid + offset(image)).clamp(0, 15).long()
    sampled = image.gather(2, column) * gain
    loss = (sampled - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
