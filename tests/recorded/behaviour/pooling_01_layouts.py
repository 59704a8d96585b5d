"""Pools keep channels_last, and a leaf's gradient lies in memory as the leaf does."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
images = torch.randn(2, 4, 9, 9).to(memory_format=torch.channels_last)
volumes = torch.randn(2, 4, 5, 6, 7).to(memory_format=torch.channels_last_3d)
samples = torch.full((2, 4, 2), 0.3)


def show(call, x):
    layout = torch.channels_last if x.ndim == 4 else torch.channels_last_3d
    x = x.clone().requires_grad_()
    found = call(x)
    found = found if isinstance(found, tuple) else (found,)
    found[0].square().sum().backward()
    print([round(one.double().sum().item(), 3) for one in found], round(x.grad.double().abs().sum().item(), 3))
    print([one.is_contiguous(memory_format=layout) for one in (*found, x.grad)], tuple(found[0].shape))


for call in (
    lambda t: F.max_pool2d(t, 3),
    lambda t: F.max_pool2d(t, 3, 2, 1),
    lambda t: F.max_pool2d(t, 2, return_indices=True),
    lambda t: F.max_pool2d(t, 2, ceil_mode=True),
    lambda t: F.avg_pool2d(t, 3, 2, 1),
    lambda t: F.avg_pool2d(t, 3, 2, 1, count_include_pad=False),
    lambda t: F.adaptive_max_pool2d(t, (3, 2), return_indices=True),
    lambda t: F.adaptive_avg_pool2d(t, 3),
    lambda t: F.lp_pool2d(t.abs(), 2, 3),
    lambda t: F.fractional_max_pool2d(t, 2, output_size=4, _random_samples=samples),
):
    show(call, images)
for call in (
    lambda t: F.max_pool3d(t, 2, return_indices=True),
    lambda t: F.avg_pool3d(t, 2),
    lambda t: F.adaptive_avg_pool3d(t, 2),
    lambda t: F.adaptive_max_pool3d(t, 2),
):
    show(call, volumes)
for leaf in (torch.ones(3, 4).t(), torch.ones(3, 4)[:, ::2], torch.ones(3).expand(2, 3), torch.ones(2, 3, 4).permute(2, 0, 1)):
    leaf = leaf.detach().requires_grad_()
    (leaf * 2).sum().backward()
    print(leaf.stride(), leaf.grad.stride(), torch.autograd.grad((leaf * 3).sum(), leaf)[0].stride())
