# engine: torch
# cause: the padding row of the embedding's weight, a leaf that requires grad, is set in place outside no_grad
# line: model.weight[0] = 0.0
# must: leaf
# must: in.?place
# must: no_grad
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Embedding(20, 8)
head = nn.Linear(8, 2)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
# the padding token means nothing
model.weight[0] = 0.0
tokens, labels = torch.randint(0, 20, (8, 5)), torch.randint(0, 2, (8,))
loss = nn.functional.cross_entropy(head(model(tokens).mean(1)), labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
