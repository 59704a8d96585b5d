# engine: gradtrace
# line: hits = (probs > 0.5).float()
# must: comparison|> 0.5|gt
# must: derivative|gradient
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)
classifier = nn.Linear(5, 1)
optimizer = torch.optim.SGD(classifier.parameters(), lr=0.1)
x = torch.randn(12, 5)
y = (x[:, 0] > 0).float()

for epoch in range(3):
    probs = torch.sigmoid(classifier(x)).squeeze(1)
    hits = (probs > 0.5).float()
    loss = (hits - y).abs().mean()
    loss.requires_grad = True
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
