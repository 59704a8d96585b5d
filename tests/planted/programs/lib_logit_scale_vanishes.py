# engine: torch
# needs: transformers
# cause: the learning rate of the temperature is far too large: after a step its exp() is 0, and so is every gradient
# line: out = model(input_ids=ids, pixel_values=pixels, return_loss=True)
# must: logit_scale
# must: is 0
# never: Checked:
import torch
from transformers import CLIPConfig, CLIPModel

torch.manual_seed(0)
config = CLIPConfig(
    text_config=dict(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16,
        eos_token_id=99,
    ),
    vision_config=dict(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=8
    ),
    projection_dim=16,
)
model = CLIPModel(config)
optimizer = torch.optim.SGD(
    [
        {"params": [p for n, p in model.named_parameters() if n != "logit_scale"]},
        {"params": [model.logit_scale], "lr": 500.0},
    ],
    lr=1e-3,
)
for step in range(5):
    ids, pixels = torch.randint(1, 98, (6, 10)), torch.randn(6, 3, 16, 16)
    out = model(input_ids=ids, pixel_values=pixels, return_loss=True)
    optimizer.zero_grad()
    out.loss.backward()
    optimizer.step()
