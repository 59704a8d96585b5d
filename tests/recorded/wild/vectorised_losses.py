import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
logits, target = torch.randn(4, 3, requires_grad=True), torch.tensor([0, 2, 1, 1])
soft = F.one_hot(target, 3).float()
losses = {
    'ce': F.cross_entropy(logits, target),
    'nll': F.nll_loss(F.log_softmax(logits, 1), target),
    'bce': F.binary_cross_entropy_with_logits(logits, soft),
    'mse': F.mse_loss(torch.softmax(logits, 1), soft),
    'l1': F.l1_loss(logits, soft),
    'smooth': F.smooth_l1_loss(logits, soft),
    'hinge': nn.MultiMarginLoss()(logits, target),
    'weighted': nn.CrossEntropyLoss(weight=torch.tensor([1., 2., .5]))(logits, target),
    'none': nn.CrossEntropyLoss(reduction='none')(logits, target).max(),
    'ignore': nn.CrossEntropyLoss(ignore_index=1)(logits, target),
    'cosine': nn.CosineEmbeddingLoss()(logits, soft, torch.ones(4)),
    'poisson': F.poisson_nll_loss(logits, soft),
}


def focal(logits, target, gamma=2.0):
    logp = F.log_softmax(logits, dim=-1).gather(1, target.unsqueeze(1)).squeeze(1)
    return (-(1 - logp.exp()) ** gamma * logp).mean()


losses['focal'] = focal(logits, target)
for name, loss in losses.items():
    g, = torch.autograd.grad(loss, logits, retain_graph=True)
    print('%-9s %.4f  |g| %.4f' % (name, loss, g.norm()))


def dice(p, t, eps=1e-6):
    inter = (p * t).sum(dim=(-1,))
    return 1 - ((2 * inter + eps) / (p.sum(-1) + t.sum(-1) + eps)).mean()


print(dice(torch.sigmoid(logits), soft))
