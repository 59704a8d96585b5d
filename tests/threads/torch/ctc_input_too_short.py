# engine: torch
# line: loss = F.ctc_loss(logits.log_softmax(2), ys, torch.tensor([6, 3]), torch.tensor([4, 4]))
# must: sequence 1 has 3 frames for 4 labels
# never: goes down
import torch
import torch.nn.functional as F

logits = torch.randn(6, 2, 5, requires_grad=True)
ys = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 4]])
loss = F.ctc_loss(logits.log_softmax(2), ys, torch.tensor([6, 3]), torch.tensor([4, 4]))
loss.backward()
print(loss.item(), logits.grad.isnan().sum().item())
