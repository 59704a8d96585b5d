# engine: torch
# cause: argmax gives class numbers, which have no derivative, so the loss does not require grad
# line: predicted = logits.argmax(1).float()
# must: argmax
# must: no derivative|not differentiable|without (a )?(gradient|history)|cuts|integers|indices|does not require grad
# from: https://www.codegenes.net/blog/pytorch-argmax-gradient
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
images, labels = torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))
for epoch in range(2):
    logits = model(images)
    predicted = logits.argmax(1).float()
    loss = criterion(predicted, labels.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
