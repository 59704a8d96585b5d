# engine: torch
# cause: image 2 has no foreground pixel, so its masked mean is 0 / 0
# line: dice = (error * mask).sum((1, 2)) / mask.sum((1, 2))
# must: nan|not finite
# must: 0 ?/ ?0|divi|zero
import torch
import torch.nn as nn

torch.manual_seed(0)
unet = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam(unet.parameters(), lr=1e-3)
images, depth = torch.randn(4, 1, 8, 8), torch.rand(4, 8, 8)
mask = (torch.rand(4, 8, 8) > 0.4).float()
mask[2] = 0
for step in range(2):
    prediction = unet(images).squeeze(1)
    error = (prediction - depth).abs()
    dice = (error * mask).sum((1, 2)) / mask.sum((1, 2))
    loss = dice.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
