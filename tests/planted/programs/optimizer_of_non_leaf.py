# engine: torch
# cause: .double() makes the noise vector a result, and SGD refuses tensors that are not leaves
# line: noise = torch.randn(1, 16, requires_grad=True).double()
# must: leaf
# must: double
# from: https://github.com/deepspeedai/Megatron-DeepSpeed/issues/356
import torch
import torch.nn as nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 8)).double()
target = torch.rand(1, 8, dtype=torch.float64)
for parameter in generator.parameters():
    parameter.requires_grad_(False)
# invert the generator: search for the noise that makes the target
noise = torch.randn(1, 16, requires_grad=True).double()
optimizer = torch.optim.SGD([noise], lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = (generator(noise) - target).abs().mean()
    loss.backward()
    optimizer.step()
