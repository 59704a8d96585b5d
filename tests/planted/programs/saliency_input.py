# engine: torch
# cause: the image does not require grad, so backward leaves image.grad None
# line: image = torch.rand(1, 3, 16, 16)
# must: requires_grad
# must: image
# ask: image
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
).eval()
image = torch.rand(1, 3, 16, 16)
score = model(image)[0].max()
score.backward()
saliency = image.grad
print("saliency", saliency)
