# engine: gradtrace
# line: return (p * torch.log(p / q)).sum(1).mean()
# must: log
# must: 0
# must: kl_div|xlogy|eps|clamp
# never: smaller lr|learning rate
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def kl(p, q):
    return (p * torch.log(p / q)).sum(1).mean()


teacher = torch.tensor([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1]])
x = torch.randn(2, 4)
student = nn.Linear(4, 3)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for i in range(2):
    q = F.softmax(student(x), dim=1)
    loss = kl(teacher, q)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
