import torch
from transformers import CLIPConfig, CLIPModel

torch.manual_seed(0)
size = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
config = CLIPConfig(
    text_config=dict(vocab_size=40, max_position_embeddings=8, bos_token_id=1, eos_token_id=2, **size),
    vision_config=dict(image_size=16, patch_size=8, **size),
    projection_dim=8,
)
model = CLIPModel(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    text = torch.cat([torch.randint(3, 40, (4, 5)), torch.full((4, 1), 2)], 1)
    out = model(input_ids=text, pixel_values=torch.randn(4, 3, 16, 16), return_loss=True)
    loss = out.loss
    opt.zero_grad()
    loss.backward()
    opt.step()
