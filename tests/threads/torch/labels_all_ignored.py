# engine: torch
# line: labels = torch.full((6,), -100)
# must: every label of labels
# never: goes down
import torch
import torch.nn.functional as F

torch.manual_seed(0)
logits = torch.randn(6, 3, requires_grad=True)
labels = torch.full((6,), -100)
loss = F.cross_entropy(logits, labels)
loss.backward()
