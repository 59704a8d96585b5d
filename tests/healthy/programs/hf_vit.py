import torch
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)
config = ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=16, patch_size=8, num_labels=3)
model = ViTForImageClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    images, labels = torch.rand(4, 3, 16, 16), torch.randint(0, 3, (4,))
    loss = model(pixel_values=images, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
