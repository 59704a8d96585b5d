# engine: torch
# cause: each task starts from a detached copy, so the meta gradient never reaches init
# line: fast = init.clone().detach().requires_grad_()
# must: detach
# must: init
# ask: init
import torch

torch.manual_seed(0)
init = torch.zeros(5, requires_grad=True)
log_lr = torch.tensor(-2.0, requires_grad=True)
meta = torch.optim.Adam([init, log_lr], lr=0.01)
centres = torch.randn(4, 5)
for step in range(2):
    meta_loss = 0.0
    for centre in centres:

        def task_loss(w):
            return ((w - centre) ** 2).sum()

        # a copy for this task
        fast = init.clone().detach().requires_grad_()
        inner = torch.autograd.grad(task_loss(fast), fast)[0]
        fast = fast - log_lr.exp() * inner
        meta_loss = meta_loss + task_loss(fast)
    meta.zero_grad()
    meta_loss.backward()
    meta.step()
