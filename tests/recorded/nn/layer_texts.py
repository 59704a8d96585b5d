# How every layer prints, and what its state_dict holds
import torch
import torch.nn as nn

layers = [
    nn.Linear(2, 3, bias=False), nn.Bilinear(2, 3, 4), nn.Identity(3), nn.Flatten(), nn.Flatten(0, 2),
    nn.Unflatten(1, (2, 3)), nn.ReLU(), nn.ReLU(True), nn.LeakyReLU(0.2, True), nn.ELU(), nn.ELU(0.5, True),
    nn.SELU(True), nn.CELU(0.3), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(True), nn.Sigmoid(), nn.Tanh(),
    nn.Softplus(2, 10), nn.Softmax(1), nn.Softmax(), nn.LogSoftmax(dim=0), nn.Softmin(1), nn.Softmax2d(),
    nn.Hardtanh(-2, 2), nn.ReLU6(), nn.ReLU6(True), nn.Hardswish(True), nn.Hardsigmoid(True), nn.PReLU(),
    nn.PReLU(3, 0.1), nn.Softsign(), nn.Tanhshrink(), nn.LogSigmoid(), nn.GLU(), nn.GLU(1), nn.Threshold(0.1, 20),
    nn.Threshold(0.1, 20, True), nn.Softshrink(), nn.Hardshrink(0.2), nn.RReLU(), nn.MSELoss(),
    nn.L1Loss(reduction="sum"), nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weight=torch.ones(2)),
    nn.BCEWithLogitsLoss(), nn.NLLLoss(), nn.TripletMarginLoss(), nn.HuberLoss(), nn.KLDivLoss(log_target=True),
    nn.Conv1d(2, 4, 3), nn.Conv2d(2, 4, (3, 5), (2, 1), 1, 2, 2, False, "reflect"), nn.Conv2d(1, 1, 3, padding="same"),
    nn.Conv3d(1, 2, 2), nn.ConvTranspose1d(2, 4, 3, stride=2, output_padding=1),
    nn.ConvTranspose2d(2, 4, 3, groups=2, dilation=3), nn.ConvTranspose3d(1, 1, 2), nn.BatchNorm1d(4),
    nn.BatchNorm2d(3, affine=False, momentum=None), nn.BatchNorm3d(2, track_running_stats=False),
    nn.InstanceNorm1d(3), nn.InstanceNorm2d(3, affine=True, track_running_stats=True), nn.LayerNorm(4),
    nn.LayerNorm([2, 3], elementwise_affine=False), nn.LayerNorm(4, bias=False), nn.GroupNorm(2, 4), nn.RMSNorm(4),
    nn.LocalResponseNorm(2), nn.Embedding(5, 3),
    nn.Embedding(5, 3, padding_idx=-1, max_norm=2.0, norm_type=1, scale_grad_by_freq=True),
    nn.EmbeddingBag(5, 3, mode="sum", padding_idx=1), nn.Dropout(0.2), nn.Dropout2d(), nn.AlphaDropout(),
    nn.MaxPool1d(2), nn.MaxPool2d((2, 3), stride=1, padding=1, ceil_mode=True), nn.MaxPool3d(2), nn.AvgPool1d(2),
    nn.AvgPool2d(3, 2), nn.AvgPool3d(2), nn.AdaptiveAvgPool1d(2), nn.AdaptiveAvgPool2d((2, None)),
    nn.AdaptiveMaxPool2d(3), nn.LPPool2d(2, 3), nn.MaxUnpool2d(2), nn.Upsample(scale_factor=2),
    nn.Upsample((3, 4), mode="bilinear"), nn.UpsamplingNearest2d(scale_factor=2), nn.PixelShuffle(2),
    nn.PixelUnshuffle(2), nn.Fold((4, 5), 2), nn.Unfold(3, padding=1), nn.ZeroPad2d(1), nn.ConstantPad1d((1, 2), 3.5),
    nn.ReflectionPad1d(2), nn.ReplicationPad2d((1, 2, 3, 4)), nn.CircularPad2d(1), nn.ZeroPad1d(2),
    nn.CosineSimilarity(), nn.PairwiseDistance(), nn.ChannelShuffle(2), nn.CTCLoss(), nn.Dropout1d(0.1),
    nn.FeatureAlphaDropout(), nn.RNN(2, 3), nn.RNN(2, 3, 2, "relu", bias=False, batch_first=True),
    nn.LSTM(2, 3, 2, dropout=0.3, bidirectional=True), nn.LSTM(2, 4, proj_size=2), nn.GRU(2, 3), nn.RNNCell(2, 3),
    nn.RNNCell(2, 3, False, "relu"), nn.LSTMCell(2, 3), nn.GRUCell(2, 3, bias=False), nn.MultiheadAttention(4, 2),
    nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2),
    nn.TransformerDecoderLayer(4, 2, 8), nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()]), nn.ModuleList(),
    nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 2)}),
    nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(2, 3)), 3]),
    nn.ParameterDict({"w": torch.ones(2), "v": nn.Parameter(torch.zeros(1)), "k": "s"}), nn.Sequential(),
    nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(1, 1)), nn.Tanh()),
]
for layer in layers:
    print(layer)
    print([(name, tuple(v.shape), v.dtype) for name, v in layer.state_dict().items()])
