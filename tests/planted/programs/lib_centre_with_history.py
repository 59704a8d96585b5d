# engine: torch
# cause: the running centre of the teacher's outputs (DINO) keeps the history of every step
# line: self.center = 0.9 * self.center + 0.1 * teacher.mean(0)
# must: center
# must: history|graph
# must: detach|no_grad
# never: diverges|vanishes
# right: teacher.mean(0) ==> teacher.detach().mean(0)
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class DINOLoss(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("center", torch.zeros(classes))

    def forward(self, student, teacher):
        target = F.softmax((teacher - self.center) / 0.04, dim=-1).detach()
        loss = -(target * F.log_softmax(student / 0.1, dim=-1)).sum(-1).mean()
        self.center = 0.9 * self.center + 0.1 * teacher.mean(0)
        return loss


student, teacher = nn.Linear(12, 8), nn.Linear(12, 8)
criterion = DINOLoss(8)
opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
for step in range(5):
    x = torch.randn(16, 12)
    loss = criterion(student(x + 0.1 * torch.randn_like(x)), teacher(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
