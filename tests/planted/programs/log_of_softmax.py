# engine: gradtrace
# ask: model.weight
# line: return -torch.log(probs[torch.arange(len(y)), y]).mean()
# must: log
# must: -inf|inf|0
# must: log_softmax|cross_entropy|logsumexp|clamp|eps
# never: retain_grad|smaller lr
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


def nll(logits, y):
    probs = F.softmax(logits, dim=1)
    return -torch.log(probs[torch.arange(len(y)), y]).mean()


model = nn.Linear(3, 3)
x = torch.tensor([[300., 0., 0.], [0., 400., 0.], [10., 0., 500.]])
y = torch.tensor([1, 2, 0])
with torch.no_grad():
    model.weight.copy_(torch.eye(3))
    model.bias.zero_()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

logits = model(x)
loss = nll(logits, y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item(), model.weight.grad)
