# engine: torch
# line: y[torch.rand(8, 5) < 0.2] = float("nan")
# must: writes nan into y
# never: goes down
import torch
import torch.nn.functional as F

torch.manual_seed(0)
pred = torch.randn(8, 5, requires_grad=True)
y = torch.randn(8, 5)
y[torch.rand(8, 5) < 0.2] = float("nan")
loss = F.mse_loss(pred, y, reduction="none")[~y.isnan()].mean()
loss.backward()
