# engine: torch
# cause: from_numpy keeps numpy's float64, and the model's weights are float32
# line: features = torch.from_numpy(rng.normal(size=(32, 5)))
# must: float64|double
# must: float32|float\b
# must: from_numpy|numpy
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
features = torch.from_numpy(rng.normal(size=(32, 5)))
labels = torch.from_numpy(rng.integers(0, 2, size=32))
model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in zip(features.split(8), labels.split(8)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
