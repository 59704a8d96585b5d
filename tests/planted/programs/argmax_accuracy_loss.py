# engine: gradtrace
# line: predicted = logits.argmax(dim=1).float()
# must: argmax
# must: cross_entropy|softmax|derivative|gumbel
# never: smaller lr|let predicted require|requires_grad=True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
x = torch.randn(10, 4)
y = torch.randint(0, 3, (10,)).float()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

for epoch in range(2):
    logits = net(x)
    predicted = logits.argmax(dim=1).float()
    loss = ((predicted - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
