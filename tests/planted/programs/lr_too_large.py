# engine: gradtrace
# line: optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# must: lr|learning rate
# must: grow|diverg|overshoot
# never: retain_graph|zero_grad|clamp
import torch
import torch.nn as nn

torch.manual_seed(0)
sizes = torch.tensor([[50.0], [80.0], [120.0], [200.0], [65.0]])
prices = sizes * 3.2 + 15
model = nn.Linear(1, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(30):
    prediction = model(sizes)
    loss = criterion(prediction, prices)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch}: {loss.item():.3g}")
print(model.weight.item(), model.bias.item())
