# engine: torch
# cause: the activations are not a leaf, and nothing asked backward to keep their gradient
# line: activations = features(image)
# must: non-?leaf|not a leaf
# must: retain_grad
# ask: activations
import torch
import torch.nn as nn

torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
classifier = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
image = torch.rand(1, 3, 12, 12)
activations = features(image)
score = classifier(activations)[0, 3]
score.backward()
print("Grad-CAM weights", activations.grad)
