# engine: torch
# cause: the first sqrt takes the root of a negative number; the second only passes the nan on
# line: distance = torch.sqrt(squared - 2)
# must: nan|not finite
# must: negative|< 0|below (0|zero)|less than (0|zero)|\[?-1
# never: first nan.{0,60}scale
# from: https://github.com/pytorch/pytorch/issues/160016 (first case)
import torch

squared = torch.tensor([1.0], requires_grad=True)
distance = torch.sqrt(squared - 2)
# anomaly mode names the next line
scale = torch.sqrt(distance)
scale.backward()
