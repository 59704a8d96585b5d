# engine: gradtrace
# ask: logits
# line: return hard + (soft - hard).detach()
# must: straight-through|detach|round
# must: soft
# never: smaller lr
import torch

torch.manual_seed(0)


def binarize(soft):
    hard = torch.round(soft)
    return hard + (soft - hard).detach()


logits = torch.tensor([0.2, -0.7, 1.3, 0.4], requires_grad=True)
weights = torch.tensor([0.5, 1.5, -1.0, 2.0])
target = torch.tensor(1.0)
opt = torch.optim.SGD([logits], lr=0.5)
for step in range(3):
    bits = binarize(torch.sigmoid(logits))
    loss = ((bits * weights).sum() - target) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), logits.grad)
