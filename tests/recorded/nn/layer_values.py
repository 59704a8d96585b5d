# Values, grad_fn names and gradients of layers with fixed weights
import torch
import torch.nn as nn


def fill(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(((torch.arange(p.numel()) * 5 + i) % 13 - 6).reshape(p.shape) * 0.0625)
    return module


def tensors(value):
    return [value] if isinstance(value, torch.Tensor) else [t for v in value for t in tensors(v)]


def weigh(t):
    return (t * torch.arange(t.numel()).reshape(t.shape).cos()).sum().item()


f64 = torch.float64
x2 = torch.linspace(-2, 2, 12, dtype=f64).reshape(3, 4)
x3 = torch.linspace(-1, 1, 24, dtype=f64).reshape(2, 3, 4)
x4 = torch.linspace(-1, 1, 80, dtype=f64).reshape(2, 2, 4, 5)
cases = [
    (nn.Linear(4, 3), x2), (nn.Linear(4, 3), x3), (nn.Conv1d(3, 2, 2, padding=1), x3),
    (nn.Conv2d(2, 3, 3, stride=2, padding=1), x4), (nn.Conv2d(2, 2, 3, padding="same", padding_mode="circular"), x4),
    (nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), x4), (nn.ConvTranspose1d(3, 2, 3, stride=2), x3),
    (nn.ConvTranspose2d(2, 2, 3, stride=2, output_padding=1), x4), (nn.BatchNorm1d(4), x2),
    (nn.BatchNorm2d(2, momentum=None), x4), (nn.BatchNorm1d(3).eval(), x3), (nn.LayerNorm(4), x2),
    (nn.GroupNorm(1, 2), x4), (nn.RMSNorm(4), x2), (nn.InstanceNorm1d(3), x3),
    (nn.InstanceNorm2d(2, affine=True, track_running_stats=True), x4), (nn.PReLU(), x2), (nn.MaxPool2d(2), x4),
    (nn.AvgPool2d(2), x4), (nn.RNN(4, 3), x3), (nn.RNN(4, 3, 2, "relu", batch_first=True, bidirectional=True), x3),
    (nn.LSTM(4, 3), x3), (nn.LSTM(4, 3, 2, bidirectional=True), x3), (nn.LSTM(4, 3, proj_size=2), x3),
    (nn.GRU(4, 3, 2), x3), (nn.RNN(4, 3), x2), (nn.GRU(4, 3, batch_first=True), x2), (nn.LSTM(4, 3), x2),
    (nn.RNNCell(4, 3), x2), (nn.LSTMCell(4, 3), x2), (nn.GRUCell(4, 3), x2), (nn.GRUCell(4, 3), x2[0]),
    (nn.LSTMCell(4, 3), x2[0]), (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), x3),
    (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, norm_first=True, activation="gelu"), x3),
    (nn.Upsample(scale_factor=2), x4), (nn.Flatten(), x4), (nn.Softmax(1), x2), (nn.GELU(), x2), (nn.SiLU(), x2),
    (nn.ELU(), x2), (nn.SELU(), x2), (nn.Softplus(), x2), (nn.LeakyReLU(), x2), (nn.LogSigmoid(), x2),
    (nn.ZeroPad2d(1), x4), (nn.ReflectionPad2d(1), x4), (nn.AdaptiveAvgPool2d(2), x4),
]
for module, x in cases:
    fill(module.double())
    x = x.clone().requires_grad_()
    ys = tensors(module(x))
    print(type(module).__name__, [tuple(y.shape) for y in ys], [f"{weigh(y):.4f}" for y in ys])
    if not isinstance(module, nn.LSTM):
        print("  ", [y.grad_fn.name() for y in ys])
    sum([(y**2).sum() for y in ys]).backward()
    print("  ", f"{weigh(x.grad):.4f}", [f"{weigh(p.grad):.4f}" for p in module.parameters()])
    print("  ", {name: [f"{v:.4f}" for v in b.reshape(-1).tolist()] for name, b in module.named_buffers()})

weights = torch.tensor([1.0, 2.0])
scores = torch.tensor([[0.2, -0.5], [1.5, 0.3], [-0.7, 0.1]])
target = torch.tensor([0, 1, 1])
soft = torch.tensor([[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]])
sign = torch.tensor([1.0, -1.0, 1.0])
losses = [
    (nn.MSELoss(), scores, soft), (nn.L1Loss(), scores, soft), (nn.SmoothL1Loss(beta=0.5), scores, soft),
    (nn.HuberLoss(delta=0.5), scores, soft), (nn.CrossEntropyLoss(), scores, target),
    (nn.CrossEntropyLoss(weights, label_smoothing=0.1), scores, target), (nn.CrossEntropyLoss(), scores, soft),
    (nn.NLLLoss(weights), scores.log_softmax(1), target), (nn.BCELoss(), scores.sigmoid(), soft),
    (nn.BCEWithLogitsLoss(pos_weight=weights), scores, soft), (nn.KLDivLoss(reduction="sum"), scores, soft),
    (nn.MSELoss(reduce=False), scores, soft), (nn.MSELoss(size_average=False), scores, soft),
    (nn.SoftMarginLoss(), scores[:, 0], sign), (nn.HingeEmbeddingLoss(), scores[:, 0], sign),
    (nn.PoissonNLLLoss(), scores, soft), (nn.MultiLabelSoftMarginLoss(), scores, soft.round()),
]
for loss, a, b in losses:
    print(type(loss).__name__, loss(a, b))
print(nn.GaussianNLLLoss()(scores, soft, torch.ones(3, 2)))
print(nn.CosineEmbeddingLoss(0.1)(scores, soft, sign), nn.MarginRankingLoss(0.2)(scores[:, 0], scores[:, 1], sign))
print(nn.TripletMarginLoss()(scores, soft, soft.flip(0)))
print(nn.TripletMarginWithDistanceLoss()(scores, soft, soft.flip(0)))
print(nn.CosineSimilarity()(scores, soft), nn.PairwiseDistance()(scores, soft))
