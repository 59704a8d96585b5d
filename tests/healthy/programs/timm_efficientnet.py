import torch
from timm.models._efficientnet_builder import decode_arch_def
from timm.models.efficientnet import EfficientNet

torch.manual_seed(0)
blocks = decode_arch_def([["ds_r1_k3_s1_e1_c8_se0.25"], ["ir_r2_k3_s2_e4_c16_se0.25"]])
model = EfficientNet(blocks, num_classes=3, num_features=32, stem_size=8, drop_rate=0.1)
opt = torch.optim.RMSprop(model.parameters(), lr=1e-4)
for step in range(2):
    x, y = torch.randn(4, 3, 32, 32), torch.randint(0, 3, (4,))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
