# engine: torch
# cause: evaluate() turns gradients off for the whole process and does not turn them on again
# line: torch.set_grad_enabled(False)
# must: set_grad_enabled|grad mode|gradients? (was|were|is|are) (turned|switched) off|disabled
# never: retain_graph
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout(0.1), nn.Linear(12, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(32, 6), torch.randint(0, 2, (32,))


def evaluate():
    model.eval()
    torch.set_grad_enabled(False)
    accuracy = (model(x).argmax(1) == y).float().mean()
    return accuracy.item()


for epoch in range(2):
    model.train()
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, evaluate())
