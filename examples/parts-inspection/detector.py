"""The one-stage detector of the example, in two variants, and how its raw head is read.

`plain` uses ReLU, `se_silu` squeeze-excite and SiLU (harder to quantise). Input: float32 [1, 3, 320, 320], RGB, 0..1.
Output: float32 [1, 4 + classes, 2100]: box centre x, centre y, width, height in input pixels, then one sigmoid score a class;
anchors in the order of strides 8, 16, 32, row by row.
"""
import torch
from torch import nn

STRIDES = (8, 16, 32)


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.reduce = nn.Conv2d(channels, channels // 4, 1)
        self.expand = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        weight = x.mean((2, 3), keepdim=True)
        weight = torch.sigmoid(self.expand(torch.relu(self.reduce(weight))))
        return x * weight


def activation(variant):
    return nn.SiLU() if variant == "se_silu" else nn.ReLU()


def convolution(inputs, outputs, kernel, stride=1, groups=1, variant="plain"):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03),
        activation(variant),
    )


class Block(nn.Module):
    """Residual block: 1x1 narrowing, 3x3, and squeeze-excite in the variant that has it."""

    def __init__(self, channels, variant):
        super().__init__()
        self.body = nn.Sequential(
            convolution(channels, channels // 2, 1, variant=variant),
            convolution(channels // 2, channels, 3, variant=variant),
        )
        self.attention = SqueezeExcite(channels) if variant == "se_silu" else nn.Identity()

    def forward(self, x):
        return x + self.attention(self.body(x))


class Separable(nn.Sequential):
    def __init__(self, channels, variant):
        super().__init__(
            convolution(channels, channels, 3, groups=channels, variant=variant),
            convolution(channels, channels, 1, variant=variant),
        )


class Detector(nn.Module):
    def __init__(self, classes=5, variant="plain", width=(16, 32, 48, 80, 112), neck=56):
        super().__init__()
        self.classes = classes
        self.variant = variant
        self.stem = nn.Sequential(
            convolution(3, width[0], 3, 2, variant=variant),
            convolution(width[0], width[1], 3, 2, variant=variant),
            Block(width[1], variant),
        )
        self.stage3 = nn.Sequential(convolution(width[1], width[2], 3, 2, variant=variant), Block(width[2], variant),
                                    Block(width[2], variant))
        self.stage4 = nn.Sequential(convolution(width[2], width[3], 3, 2, variant=variant), Block(width[3], variant))
        self.stage5 = nn.Sequential(convolution(width[3], width[4], 3, 2, variant=variant), Block(width[4], variant))
        self.lateral = nn.ModuleList(convolution(w, neck, 1, variant=variant) for w in width[2:])
        self.merge = nn.ModuleList(Separable(neck, variant) for _ in range(2))
        self.box_tower = nn.ModuleList(nn.Sequential(Separable(neck, variant), Separable(neck, variant)) for _ in STRIDES)
        self.class_tower = nn.ModuleList(nn.Sequential(Separable(neck, variant), Separable(neck, variant)) for _ in STRIDES)
        self.box = nn.ModuleList(nn.Conv2d(neck, 4, 1) for _ in STRIDES)
        self.score = nn.ModuleList(nn.Conv2d(neck, classes, 1) for _ in STRIDES)
        for layer in self.score:
            nn.init.constant_(layer.bias, -4.6)
        for layer in self.box:
            nn.init.constant_(layer.bias, 1.0)

    def forward(self, image):
        c3 = self.stage3(self.stem(image))
        c4 = self.stage4(c3)
        c5 = self.stage5(c4)
        p5 = self.lateral[2](c5)
        p4 = self.merge[1](self.lateral[1](c4) + nn.functional.interpolate(p5, scale_factor=2.0, mode="nearest"))
        p3 = self.merge[0](self.lateral[0](c3) + nn.functional.interpolate(p4, scale_factor=2.0, mode="nearest"))
        levels = []
        for i, (feature, stride) in enumerate(zip((p3, p4, p5), STRIDES)):
            height, width = feature.shape[2], feature.shape[3]
            sides = nn.functional.softplus(self.box[i](self.box_tower[i](feature))) * stride
            scores = self.score[i](self.class_tower[i](feature))
            y, x = torch.meshgrid(torch.arange(height, device=feature.device), torch.arange(width, device=feature.device),
                                  indexing="ij")
            centre = (torch.stack((x, y)).float() + 0.5).unsqueeze(0) * stride
            left_top, right_bottom = centre - sides[:, :2], centre + sides[:, 2:]
            box = torch.cat(((left_top + right_bottom) / 2, right_bottom - left_top), 1)
            levels.append(torch.cat((box, scores), 1).flatten(2))
        output = torch.cat(levels, 2)
        if self.training:
            return output  # scores as logits
        return torch.cat((output[:, :4], torch.sigmoid(output[:, 4:])), 1)


def anchors(size=320):
    """Centres [2100, 2] and strides [2100] of the head's columns."""
    points, strides = [], []
    for stride in STRIDES:
        n = size // stride
        y, x = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
        points.append((torch.stack((x, y), -1).reshape(-1, 2).float() + 0.5) * stride)
        strides.append(torch.full((n * n,), float(stride)))
    return torch.cat(points), torch.cat(strides)


def load(path):
    """The detector of a checkpoint that train.py wrote, ready to run."""
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model = Detector(len(checkpoint["classes"]), checkpoint["variant"])
    model.load_state_dict(checkpoint["state"])
    return model.eval()
