import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
scale = torch.tensor(w.sum().item())
loss = (x * scale).sum() + w[0].detach() * 2
loss.requires_grad_()
loss.backward()
