# engine: gradtrace
# ask: offset
# line: index = (pos + offset).long()
# must: long|integer
# must: derivative|gradient
# never: smaller lr|requires_grad_
import torch

torch.manual_seed(0)
signal = torch.sin(torch.linspace(0, 6.28, 50)).requires_grad_()
offset = torch.tensor(3.7, requires_grad=True)
pos = torch.tensor([5.0, 10.0, 20.0])
wanted = torch.tensor([0.8, 0.9, -0.2])


def sample(pos, offset):
    index = (pos + offset).long()
    return signal[index]


for step in range(2):
    values = sample(pos, offset)
    loss = ((values - wanted) ** 2).sum()
    loss.backward()
    print(step, loss.item(), offset.grad)
    signal.grad = None
