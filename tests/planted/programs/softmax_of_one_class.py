# engine: gradtrace
# ask: model.weight
# line: loss = F.cross_entropy(logits, labels)
# line: model = nn.Linear(4, 1)
# must: one class|single|one element|1 class|only one
# must: softmax|cross_entropy
# must: binary_cross_entropy|BCEWithLogits|sigmoid|two|2
# never: smaller lr|saturated|dead
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
x = torch.randn(10, 4)
labels = torch.zeros(10, dtype=torch.long)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    logits = model(x)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), model.weight.grad.abs().max().item())
