import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay):
        self.shadow = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.shadow.parameters():
            p.requires_grad = False

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.mul_(self.decay).add_(p, alpha=1 - self.decay)


torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 4))
student = nn.Linear(5, 4)
ema = EMA(student, 0.9)
opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
x, y = torch.randn(40, 5), torch.randint(4, (40,))
T, alpha = 2.0, 0.7
teacher.eval()
for step in range(30):
    with torch.no_grad():
        teacher_logits = teacher(x)
    logits = student(x)
    soft = nn.KLDivLoss(reduction='batchmean')(F.log_softmax(logits / T, dim=1), F.softmax(teacher_logits / T, dim=1))
    hard = F.cross_entropy(logits, y, label_smoothing=0.1)
    loss = alpha * T * T * soft + (1 - alpha) * hard
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(student)
    if step % 10 == 0:
        print(f'{step:2d} soft {soft:.4f} hard {hard:.4f} total {loss:.4f}')
agree = (student(x).argmax(1) == teacher(x).argmax(1)).float().mean()
print(f'{agree:.3f}', (ema.shadow.weight - student.weight).abs().max() > 0, ema.shadow.training)
