"""The classes that type() shows."""

import torch
from torch import nn

x = torch.ones(2, 2, requires_grad=True)
for value in (
    *((x * 2).grad_fn, nn.functional.cross_entropy(x, torch.tensor([0, 1])).grad_fn, x.register_hook(print)),
    *(x.layout, torch.contiguous_format, x.shape, x.dtype, x.device, torch.max(x, 0), torch.linalg.svd(x)),
    *(torch.manual_seed(0), torch, nn, torch.optim, torch.autograd.Function, nn.ReLU().register_forward_hook(print)),
):
    print(type(value))
