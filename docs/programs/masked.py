import torch

scores = torch.zeros(2, 3, requires_grad=True)
keep = torch.tensor([[True, True, False], [False, False, False]])
masked = scores.masked_fill(~keep, float("-inf"))
attention = torch.softmax(masked, dim=1)
loss = (attention * torch.ones(2, 3)).sum()
loss.backward()
