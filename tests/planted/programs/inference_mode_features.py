# engine: torch
# cause: the features are made under inference_mode, and such tensors cannot be saved for backward
# line: with torch.inference_mode():
# line: features = teacher(x)
# must: inference
# must: clone|no_grad
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(10, 20), nn.ReLU())
student = nn.Linear(20, 3)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x, y = torch.randn(16, 10), torch.randint(0, 3, (16,))
for epoch in range(2):
    with torch.inference_mode():
        features = teacher(x)
    loss = F.cross_entropy(student(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
