# engine: torch
# needs: transformers
# cause: one image of the second batch is of one colour, and is divided by its spread of 0
# line: return (image - image.mean()) / image.std(), self.labels[i]
# must: nan
# must: std|0 / 0|divi
# never: learning rate|overshoot|lr=
import torch
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)


class Images(torch.utils.data.Dataset):
    def __init__(self):
        self.images, self.labels = torch.rand(12, 3, 8, 8), torch.randint(0, 3, (12,))
        self.images[6] = 0.5

    def __len__(self):
        return 12

    def __getitem__(self, i):
        image = self.images[i]
        return (image - image.mean()) / image.std(), self.labels[i]


config = ViTConfig(
    hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=8, patch_size=4, num_labels=3
)
model = ViTForImageClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for pixels, labels in torch.utils.data.DataLoader(Images(), batch_size=4):
    loss = model(pixel_values=pixels, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
