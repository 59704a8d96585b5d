# engine: torch
# cause: .item() turns each loss into a number, and the total made of them is a new leaf
# line: total += criterion(model(x), y).item()
# line: total = torch.tensor(total / len(batches), requires_grad=True)
# must: item\(\)|torch\.tensor
# must: number|graph|history|leaf|copies
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
batches = [(torch.randn(8, 5), torch.randn(8, 1)) for _ in range(3)]
for epoch in range(2):
    total = 0.0
    for x, y in batches:
        total += criterion(model(x), y).item()
    total = torch.tensor(total / len(batches), requires_grad=True)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
