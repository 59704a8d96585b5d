"""A layer and the batch normalisation after it as one layer."""

import torch
from torch import nn
from torch.nn.utils import fuse_conv_bn_eval, fuse_linear_bn_eval
from torch.nn.utils.fusion import fuse_conv_bn_weights

torch.manual_seed(0)


def normalised(norm):
    for buffer in (norm.running_mean, norm.running_var):
        buffer.uniform_(0.5, 2)
    return norm.eval()


x = torch.randn(2, 3, 4, 4)
for conv in (nn.Conv2d(3, 2, 3), nn.Conv2d(3, 2, 3, bias=False), nn.ConvTranspose2d(3, 2, 3)):
    norm = normalised(nn.BatchNorm2d(2))
    fused = fuse_conv_bn_eval(conv.eval(), norm, isinstance(conv, nn.ConvTranspose2d))
    print(fused, torch.allclose(fused(x), norm(conv(x)), atol=1e-5), [p.requires_grad for p in fused.parameters()])
linear, norm = nn.Linear(4, 2).eval(), normalised(nn.BatchNorm1d(2))
print(torch.allclose(fuse_linear_bn_eval(linear, norm)(x[:, 0, 0]), norm(linear(x[:, 0, 0])), atol=1e-5))
plain = normalised(nn.BatchNorm2d(2, affine=False))
weight, bias = fuse_conv_bn_weights(conv.weight, None, plain.running_mean, plain.running_var, plain.eps, None, None, True)
print(type(weight), weight.shape, bias.requires_grad)
try:
    fuse_conv_bn_eval(conv.train(), norm)
except AssertionError as error:
    print(error)
