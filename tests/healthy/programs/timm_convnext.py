import timm
import torch
from torch import nn

torch.manual_seed(0)
model = timm.create_model("convnext_atto", num_classes=5, pretrained=False)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(2):
    x, y = torch.rand(2, 3, 64, 64), torch.randint(0, 5, (2,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
