import torch
from timm.models.swin_transformer import SwinTransformer

torch.manual_seed(0)
model = SwinTransformer(
    img_size=32, patch_size=4, num_classes=3, embed_dim=8, depths=(2, 2), num_heads=(2, 2), window_size=4
)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    x, y = torch.randn(2, 3, 32, 32), torch.randint(0, 3, (2,))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
