import copy
import torch
import torch.nn as nn

torch.manual_seed(8)
student = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.5)
x = torch.randn(16, 6)
for step in range(5):
    noisy = x + 0.2 * torch.randn(16, 6)
    loss = nn.functional.mse_loss(student(noisy), teacher(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data.mul_(0.95).add_(0.05 * s.data)
    print(f"{loss.item():.6f}")
