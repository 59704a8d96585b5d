# engine: torch
# cause: the loss is log of a negative number, so nan, while every gradient is finite
# line: loss = torch.log(-score)
# must: loss
# must: nan|not finite
# must: log
# never: nothing (is )?wrong|no problem|^all gradients are (fine|finite)
# from: https://github.com/pytorch/pytorch/issues/160016 (second case)
import torch

score = torch.tensor([1.0], requires_grad=True)
loss = torch.log(-score)
loss.backward()
print("grad", score.grad)
