"""Models of images, in torchvision's structure where it has them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.torch.models.case import Case, train


class BasicBlock(nn.Module):
    """torchvision's BasicBlock: ReLU in place, `out += identity`."""

    def __init__(self, inplanes: int, planes: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (8, 16, 32), classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        before = (widths[0], *widths)
        self.layers = nn.ModuleList(
            nn.Sequential(BasicBlock(a, b, 1 if a == b else 2), BasicBlock(b, b))
            for a, b in zip(before, widths, strict=False)
        )
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for layer in self.layers:
            x = layer(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet() -> Case:
    torch.manual_seed(0)
    model, images, labels = ResNet(), torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
    case = train(
        model, lambda: F.cross_entropy(model(images), labels, label_smoothing=0.1), torch.optim.SGD
    )
    for group in case.optimizers[0].param_groups:
        group.update(momentum=0.9, weight_decay=1e-4)
    return case


class EncoderBlock(nn.Module):
    """torchvision's ViT block: MultiheadAttention and an MLP, each behind a LayerNorm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.self_attention = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.ln_1(x)
        h, _ = self.self_attention(h, h, h, need_weights=False)
        x = x + self.dropout(h)
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    def __init__(self, width: int = 32, patch: int = 8, size: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embedding = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.Sequential(*[EncoderBlock(width, 4) for _ in range(2)])
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = (
            torch.cat([self.class_token.expand(len(x), -1, -1), patches], dim=1)
            + self.pos_embedding
        )
        return self.head(self.ln(self.layers(x))[:, 0])


def vit() -> Case:
    torch.manual_seed(0)
    model, images, labels = ViT(), torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
    return train(model, lambda: F.cross_entropy(model(images), labels))


class UNet(nn.Module):
    """Two levels with skip connections; `time` is added to the middle for diffusion."""

    def __init__(self, channels: int = 1, width: int = 8, outputs: int = 1) -> None:
        super().__init__()

        def double(inputs: int, outputs: int) -> nn.Sequential:
            return nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, padding=1),
                nn.GroupNorm(4, outputs),
                nn.SiLU(inplace=True),
                nn.Conv2d(outputs, outputs, 3, padding=1),
                nn.SiLU(inplace=True),
            )

        self.down1, self.down2, self.middle = (
            double(channels, width),
            double(width, 2 * width),
            double(2 * width, 32),
        )
        self.up2, self.up1 = (
            nn.ConvTranspose2d(32, 2 * width, 2, 2),
            nn.ConvTranspose2d(2 * width, width, 2, 2),
        )
        self.fuse2, self.fuse1 = double(4 * width, 2 * width), double(2 * width, width)
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.out = nn.Conv2d(width, outputs, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor | None = None) -> torch.Tensor:
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        middle = self.middle(F.max_pool2d(second, 2))
        if time is not None:
            middle = middle + self.time(time)[:, :, None, None]
        x = self.fuse2(torch.cat([self.up2(middle), second], dim=1))
        return self.out(self.fuse1(torch.cat([self.up1(x), first], dim=1)))


def unet() -> Case:
    """Segmentation with cross entropy and the Dice loss; the time embedding stays unused."""
    torch.manual_seed(0)
    model, images = UNet(), torch.randn(2, 1, 16, 16)
    masks = (torch.rand(2, 1, 16, 16) > 0.5).float()

    def loss_of() -> torch.Tensor:
        logits = model(images)
        shown = logits.sigmoid()
        dice = 1 - (2 * (shown * masks).sum() + 1) / (shown.sum() + masks.sum() + 1)
        return F.binary_cross_entropy_with_logits(logits, masks) + dice

    return train(model, loss_of)


def diffusion() -> Case:
    """A DDPM training step, with an exponential moving average of the weights."""
    torch.manual_seed(0)
    model, average, images = UNet(), UNet(), torch.randn(4, 1, 16, 16)
    average.load_state_dict(model.state_dict())
    average.requires_grad_(False)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> torch.Tensor:
        t = torch.randint(0, 100, (4,))
        noise = torch.randn_like(images)
        level = kept[t].view(-1, 1, 1, 1)
        noisy = level.sqrt() * images + (1 - level).sqrt() * noise
        angles = t[:, None] * torch.exp(-torch.arange(8) / 8 * 4.6)
        loss = F.mse_loss(model(noisy, torch.cat([angles.sin(), angles.cos()], dim=1)), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters(), strict=True):
                old.lerp_(new, 0.1)
        return loss.detach()

    return Case([model, average], [optimizer], step)


def gan() -> Case:
    """One step of the discriminator with spectral norm, then one of the generator."""
    torch.manual_seed(0)
    generator = nn.Sequential(
        nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(True), nn.Linear(32, 12), nn.Tanh()
    )
    critic = nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Linear(12, 32)),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Linear(32, 1),
    )
    optimizers = [
        torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999))
        for net in (critic, generator)
    ]
    real = torch.rand(8, 12)

    def step() -> torch.Tensor:
        fake = generator(torch.randn(8, 8))
        loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
        optimizers[0].zero_grad()
        loss_d.backward()
        optimizers[0].step()
        loss_g = F.softplus(-critic(fake)).mean()
        optimizers[1].zero_grad()
        loss_g.backward()
        optimizers[1].step()
        return torch.stack([loss_d.detach(), loss_g.detach()])

    return Case([generator, critic], optimizers, step)
