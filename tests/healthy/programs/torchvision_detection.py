import torch
from torch import nn
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.rpn import AnchorGenerator
from torchvision.ops import MultiScaleRoIAlign

torch.compiler.set_stance("force_eager")  # where torchvision has no kernels, it compiles those in Python
torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
backbone.out_channels = 8
model = FasterRCNN(
    backbone,
    num_classes=2,
    min_size=32,
    max_size=32,
    rpn_anchor_generator=AnchorGenerator(((8, 16),), ((1.0,),)),
    box_roi_pool=MultiScaleRoIAlign(["0"], 2, 2),
    rpn_pre_nms_top_n_train=16,
    rpn_post_nms_top_n_train=8,
    box_batch_size_per_image=8,
)
opt = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
for step in range(2):
    images = [torch.rand(3, 32, 32), torch.rand(3, 32, 32)]
    boxes = torch.tensor([[4.0, 4.0, 20.0, 20.0]])
    targets = [{"boxes": boxes, "labels": torch.tensor([1])} for _ in images]
    losses = model(images, targets)
    loss = sum(losses.values())
    opt.zero_grad()
    loss.backward()
    opt.step()
