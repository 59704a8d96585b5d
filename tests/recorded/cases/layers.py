# ---- MultiMarginLoss without reduction
x = torch.tensor([[0.1, 0.2, 0.4, 0.8], [0.9, 0.1, 0.3, 0.2]], requires_grad=True)
y = torch.tensor([3, 0])
for reduction in ("none", "mean", "sum"):
    loss = nn.MultiMarginLoss(reduction=reduction)
    show(lambda: loss(x, y), lambda: loss(x[0], y[0]), lambda: loss(x[0], y[:1]), lambda: loss(x[:1], y[:1]), lambda: loss(x[0], torch.tensor(3)).shape)
    show(lambda: F.multi_margin_loss(x, y, p=2, margin=0.5, weight=torch.tensor([1.0, 2.0, 3.0, 4.0]), reduction=reduction))

# ---- losses without reduction: shapes for one sample, batches and empty batches
v = torch.tensor([0.3, -0.2, 0.5])
w = torch.tensor([0.1, 0.4, -0.6])
m = torch.tensor([[0.3, -0.2, 0.5], [0.1, 0.2, -0.3]])
n = torch.tensor([[0.1, 0.4, -0.6], [-0.1, 0.3, 0.2]])
s = torch.tensor([1.0, -1.0])
for reduction in ("none", "mean", "sum"):
    show(lambda: F.multilabel_margin_loss(v.requires_grad_(), torch.tensor([1, -1, 0]), reduction=reduction), lambda: F.multilabel_margin_loss(m, torch.tensor([[1, -1, 0], [0, 2, -1]]), reduction=reduction))
    show(lambda: F.multilabel_soft_margin_loss(v, v.sign(), reduction=reduction), lambda: F.multilabel_soft_margin_loss(m, m.sign(), reduction=reduction))
    show(lambda: F.nll_loss(v, torch.tensor(1), reduction=reduction), lambda: F.nll_loss(m, torch.tensor([1, 0]), reduction=reduction), lambda: F.nll_loss(m[:0], torch.zeros(0, dtype=torch.int64), reduction=reduction))
    show(lambda: F.cross_entropy(v, torch.tensor(1), reduction=reduction), lambda: F.cross_entropy(m, torch.tensor([1, 0]), reduction=reduction), lambda: F.cross_entropy(m[:0], torch.zeros(0, dtype=torch.int64), reduction=reduction))
    show(lambda: F.cross_entropy(v, v.softmax(0), reduction=reduction), lambda: F.cross_entropy(m, m.softmax(1), reduction=reduction), lambda: F.cross_entropy(m[:, :, None], torch.tensor([[1], [0]]), reduction=reduction))
    show(lambda: F.hinge_embedding_loss(v, v.sign(), reduction=reduction), lambda: F.hinge_embedding_loss(m, m.sign(), reduction=reduction), lambda: F.soft_margin_loss(m, m.sign(), reduction=reduction))
    show(lambda: F.cosine_embedding_loss(m, n, s, reduction=reduction), lambda: F.cosine_embedding_loss(v, w, torch.tensor(1.0), reduction=reduction), lambda: F.cosine_embedding_loss(v, w, torch.tensor([1.0]), reduction=reduction))
    show(lambda: F.margin_ranking_loss(v, w, v.sign(), reduction=reduction), lambda: F.margin_ranking_loss(v[0], w[0], torch.tensor(1.0), reduction=reduction), lambda: F.margin_ranking_loss(m, n, m.sign(), reduction=reduction))
    m, n = m.double(), n.double()
    show(lambda: F.triplet_margin_loss(m, n, m.flip(0), reduction=reduction), lambda: F.triplet_margin_loss(v, w, v.flip(0), reduction=reduction), lambda: F.triplet_margin_with_distance_loss(m, n, m.flip(0), reduction=reduction))
    show(lambda: F.poisson_nll_loss(m, n.abs(), reduction=reduction), lambda: F.gaussian_nll_loss(m, n, n.abs(), reduction=reduction), lambda: F.kl_div(m, n.abs(), reduction=reduction))
    show(lambda: F.gaussian_nll_loss(m, n, torch.tensor([[0.5], [0.3]]), reduction=reduction), lambda: F.gaussian_nll_loss(m, n, torch.tensor([0.5, 0.3]), reduction=reduction), lambda: F.gaussian_nll_loss(v[0], w[0], torch.tensor(0.5), reduction=reduction))
    show(lambda: F.mse_loss(v[0], w[0], reduction=reduction), lambda: F.l1_loss(m, n, reduction=reduction), lambda: F.smooth_l1_loss(m[:0], n[:0], reduction=reduction), lambda: F.huber_loss(v, w, reduction=reduction))
    show(lambda: F.binary_cross_entropy(v.sigmoid(), w.sigmoid(), reduction=reduction), lambda: F.binary_cross_entropy_with_logits(v[0], w[0], reduction=reduction), lambda: F.binary_cross_entropy(v[:0], w[:0], reduction=reduction))
    show(lambda: F.ctc_loss(torch.log_softmax(torch.arange(24.0).reshape(4, 2, 3), 2), torch.tensor([[1, 2], [1, 1]]), (4, 4), (2, 1), reduction=reduction), lambda: F.ctc_loss(torch.log_softmax(torch.arange(12.0).reshape(4, 3), 1), torch.tensor([1, 2]), torch.tensor(4), torch.tensor(2), reduction=reduction))
show(lambda: F.kl_div(m, n.abs(), reduction="batchmean"), lambda: nn.KLDivLoss(reduction="batchmean", log_target=True)(m, n))

# ---- convolutions with 0 channels, 0 samples and 0 groups
def grads(call, *tensors):
    out = call()
    out.sum().backward()
    print(tuple(out.shape), [None if t.grad is None else (tuple(t.grad.shape), t.grad.sum().item()) for t in tensors])


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


for d, conv in ((1, F.conv1d), (2, F.conv2d), (3, F.conv3d)):
    k = (2,) * d
    n = (4,) * d
    for x, w, b in ((leaf(2, 0, *n), leaf(3, 0, *k), leaf(3)), (leaf(2, 1, *n), leaf(0, 1, *k), leaf(0)), (leaf(0, 1, *n), leaf(3, 1, *k), leaf(3)), (leaf(0, *n), leaf(3, 0, *k), leaf(3)), (leaf(2, 0, *n), leaf(0, 0, *k), leaf(0))):
        try:
            grads(lambda: conv(x, w, b), x, w, b)
        except Exception as error:
            print(f"{type(error).__name__}: {error}".partition("\n")[0])
        try:
            grads(lambda: conv(x, w, padding=1, stride=2), x, w)
        except Exception as error:
            print(f"{type(error).__name__}: {error}".partition("\n")[0])
for d, conv in ((1, F.conv_transpose1d), (2, F.conv_transpose2d)):
    k = (2,) * d
    n = (4,) * d
    for x, w, b in ((leaf(2, 0, *n), leaf(0, 3, *k), leaf(3)), (leaf(0, 1, *n), leaf(1, 3, *k), leaf(3))):
        try:
            grads(lambda: conv(x, w, b), x, w, b)
        except Exception as error:
            print(f"{type(error).__name__}: {error}".partition("\n")[0])
show(lambda: F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), groups=0), lambda: F.conv1d(torch.ones(1, 2, 0), torch.ones(1, 2, 1)), lambda: F.conv1d(torch.ones(1, 1, 0), torch.ones(1, 1, 1), padding=1))

# ---- layers of 0 features and empty batches
for make in (
    lambda: nn.Conv1d(0, 3, 2),
    lambda: nn.Conv1d(3, 0, 2),
    lambda: nn.Conv2d(0, 3, 2),
    lambda: nn.ConvTranspose1d(0, 3, 2),
    lambda: nn.Linear(0, 3),
    lambda: nn.Linear(3, 0),
    lambda: nn.Bilinear(2, 0, 3),
    lambda: nn.BatchNorm1d(0),
    lambda: nn.LayerNorm(0),
    lambda: nn.GroupNorm(1, 0),
    lambda: nn.InstanceNorm1d(0),
    lambda: nn.Embedding(0, 3),
    lambda: nn.Embedding(3, 0),
    lambda: nn.EmbeddingBag(3, 0),
    lambda: nn.PReLU(0),
    lambda: nn.RNN(0, 3),
    lambda: nn.RNN(3, 0),
    lambda: nn.MultiheadAttention(0, 1),
):
    try:
        print([tuple(p.shape) for p in make().parameters()])
    except Exception as error:
        print(f"{type(error).__name__}: {error}".partition("\n")[0])
show(lambda: nn.Conv1d(0, 3, 2, bias=False)(torch.ones(2, 0, 4)), lambda: nn.Linear(0, 3, bias=False)(torch.ones(2, 0)), lambda: nn.Linear(3, 0)(torch.ones(2, 3)))
show(lambda: nn.Linear(3, 2)(torch.ones(0, 3)).shape, lambda: nn.BatchNorm1d(3)(torch.ones(0, 3)), lambda: nn.BatchNorm1d(3).eval()(torch.ones(0, 3)), lambda: nn.LayerNorm(3)(torch.ones(0, 3)))
show(lambda: nn.GroupNorm(1, 3)(torch.ones(0, 3)), lambda: nn.InstanceNorm1d(3)(torch.ones(0, 3, 2)), lambda: nn.Embedding(3, 2)(torch.zeros(0, dtype=torch.int64)), lambda: nn.MaxPool1d(2)(torch.ones(0, 3, 4)))
show(lambda: nn.AvgPool2d(2)(torch.ones(0, 3, 4, 4)), lambda: nn.AdaptiveAvgPool1d(2)(torch.ones(0, 3, 4)), lambda: nn.PReLU(3)(torch.ones(0, 3)), lambda: nn.Bilinear(2, 2, 1)(torch.ones(0, 2), torch.ones(0, 2)))
show(lambda: nn.RNN(2, 3)(torch.ones(2, 0, 2))[0], lambda: nn.RNN(2, 3)(torch.ones(0, 2, 2)), lambda: nn.Dropout(0.5)(torch.ones(0)), lambda: nn.Upsample(scale_factor=2)(torch.ones(0, 1, 2)), lambda: nn.Softmax(1)(torch.ones(0, 2)))

# ---- EmbeddingBag with include_last_offset
weight = torch.arange(8.0).reshape(4, 2).requires_grad_()
index = torch.tensor([0, 1, 2, 3, 3])
for mode in ("sum", "mean", "max"):
    for offsets in ([0, 2, 5], [0, 0, 3, 5], [0, 5], [0, 3, 3, 5]):
        try:
            out = F.embedding_bag(index, weight, torch.tensor(offsets), mode=mode, include_last_offset=True)
            print(mode, offsets, out)
            print(torch.autograd.grad((out * torch.arange(1.0, out.numel() + 1).reshape(out.shape)).sum(), weight)[0])
        except Exception as error:
            print(f"{mode} {offsets} {type(error).__name__}: {error}".partition("\n")[0])
bag = nn.EmbeddingBag(4, 2, mode="sum", include_last_offset=True, _weight=torch.arange(8.0).reshape(4, 2))
print(bag, bag.include_last_offset)
show(lambda: bag(index, torch.tensor([0, 2, 5])), lambda: bag(index, torch.tensor([1, 5])), lambda: bag(index.reshape(1, 5)), lambda: bag(index))
show(lambda: bag(index[:0], torch.tensor([0])), lambda: bag(index, torch.tensor([0, 2, 5]), per_sample_weights=torch.arange(5.0)), lambda: bag(index, torch.tensor([], dtype=torch.int64)))
show(lambda: nn.EmbeddingBag.from_pretrained(torch.ones(2, 2), include_last_offset=True), lambda: F.embedding_bag(index, weight, torch.tensor([0, 2]), include_last_offset=False))
show(lambda: F.embedding_bag(index, weight, torch.tensor([0, 2, 5]), mode="mean", include_last_offset=True, padding_idx=3), lambda: F.embedding_bag(index, weight, torch.tensor([0, 2, 5]), mode="max", include_last_offset=True, padding_idx=3))

# ---- double backward through norms
x = torch.tensor([[0.5, -1.0, 2.0, 0.3], [1.5, 0.2, -0.7, 0.9]], dtype=torch.float64).reshape(2, 2, 2).requires_grad_()
w = torch.tensor([1.5, -0.5], dtype=torch.float64, requires_grad=True)
b = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True)
mean, var = torch.tensor([0.1, 0.2], dtype=torch.float64), torch.tensor([0.5, 2.0], dtype=torch.float64)
forms = {
    "instance_norm": lambda: F.instance_norm(x, weight=w, bias=b),
    "instance_norm plain": lambda: F.instance_norm(x),
    "instance_norm running": lambda: F.instance_norm(x, mean.clone(), var.clone(), w, b, use_input_stats=True),
    "instance_norm eval": lambda: F.instance_norm(x, mean, var, w, b, use_input_stats=False),
    "instance_norm 2d": lambda: F.instance_norm(x.reshape(1, 2, 2, 2), weight=w, bias=b),
    "batch_norm": lambda: F.batch_norm(x, None, None, w, b, training=True),
    "batch_norm plain": lambda: F.batch_norm(x, None, None, training=True),
    "batch_norm eval": lambda: F.batch_norm(x, mean, var, w, b),
    "layer_norm": lambda: F.layer_norm(x, (2,), w, b),
    "layer_norm plain": lambda: F.layer_norm(x, (2, 2)),
    "group_norm": lambda: F.group_norm(x, 1, w, b),
    "group_norm plain": lambda: F.group_norm(x, 2),
    "rms_norm": lambda: F.rms_norm(x, (2,), w),
    "local_response_norm": lambda: F.local_response_norm(x, 2),
    "normalize": lambda: F.normalize(x, dim=1),
}
scale = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(2, 2, 2)
for name, form in forms.items():
    print(name)
    try:
        y = form()
        leaves = [t for t in (x, w, b) if torch.autograd.grad((y**2).sum(), t, retain_graph=True, allow_unused=True)[0] is not None]
        g = torch.autograd.grad((y.reshape(2, 2, 2) ** 3 * scale).sum(), leaves, create_graph=True)
        print([t.requires_grad for t in g], g[0].detach())
        h = torch.autograd.grad(sum((t**2).sum() for t in g if t.requires_grad), leaves, allow_unused=True)
        for t in h:
            print(t)
    except Exception as error:
        print(f"{type(error).__name__}: {error}".partition("\n")[0])

# ---- double backward through norm modules
x = torch.tensor([[[[0.5, -1.0], [2.0, 0.3]], [[1.5, 0.2], [-0.7, 0.9]]]], dtype=torch.float64, requires_grad=True)
for layer in (nn.InstanceNorm2d(2), nn.InstanceNorm2d(2, affine=True), nn.InstanceNorm2d(2, track_running_stats=True), nn.InstanceNorm2d(2, affine=True, track_running_stats=True).eval(), nn.BatchNorm2d(2), nn.BatchNorm2d(2).eval(), nn.GroupNorm(2, 2), nn.LayerNorm((2, 2)), nn.LayerNorm(2, elementwise_affine=False), nn.RMSNorm(2)):
    layer = layer.double()
    y = layer(x) * torch.arange(1.0, 9.0, dtype=torch.float64).reshape(1, 2, 2, 2)
    (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    print(g.detach())
    (h,) = torch.autograd.grad((g**2).sum(), x, allow_unused=True)
    print(h)

# ---- double backward through in-place activations
x = torch.tensor([-2.0, -0.5, 0.3, 0.9, 4.0], dtype=torch.float64, requires_grad=True)
for name in ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "hardtanh", "hardsigmoid", "hardswish", "silu", "mish", "threshold", "rrelu"):
    args = (0.1, 0.2) if name == "threshold" else ()
    for form in (lambda: getattr(F, name)(x * 1, *args, inplace=True), lambda: getattr(F, name)(x * 1, *args), lambda: getattr(F, name)((x * 1)[1:], *args, inplace=True)):
        try:
            y = form()
            print(name, y.grad_fn.name())
            (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
            (h,) = torch.autograd.grad((g**2).sum(), x)
            print(g.detach(), h)
        except Exception as error:
            print(f"{name} {type(error).__name__}: {error}".partition("\n")[0])

# ---- double backward through in-place methods
x = torch.tensor([-0.8, -0.5, 0.3, 0.9], dtype=torch.float64, requires_grad=True)
for name in ("relu_", "sigmoid_", "tanh_", "exp_", "sin_", "square_", "abs_", "neg_", "expm1_", "erf_", "atan_", "sinh_", "cosh_", "tan_", "log1p_", "frac_", "round_", "sign_"):
    for form in (lambda y: getattr(y, name)(), lambda y: getattr(y[1:], name)()):
        y = x * 1
        form(y)
        (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        show(lambda: (name, g.detach(), torch.autograd.grad((g**2).sum(), x)))

# ---- double backward through a network of in-place layers
x = torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(2, 4).requires_grad_()
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4), nn.LeakyReLU(0.1, inplace=True), nn.Linear(4, 4), nn.ELU(inplace=True), nn.Linear(4, 4), nn.Hardtanh(-3, 3, inplace=True)).double()
with torch.no_grad():
    for p in net.parameters():
        p.copy_(torch.linspace(-1, 1, p.numel(), dtype=torch.float64).reshape(p.shape))
(g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
print(g.detach())
penalty = (g.norm(dim=1) - 1).pow(2).sum()
penalty.backward()
for p in net.parameters():
    print(p.grad)

# ---- a second backward through a view that was changed in place
a = torch.ones(3, requires_grad=True)
for change in (
    lambda b: b[1:].add_(1),
    lambda b: b[1:].exp_(),
    lambda b: b[1:].mul_(2),
    lambda b: b[1:].fill_(2),
    lambda b: b[1:].copy_(torch.ones(2)),
    lambda b: b.__setitem__(0, 2.0),
    lambda b: b.add_(1),
    lambda b: b.exp_(),
):
    b = a.clone()
    change(b)
    b.sum().backward()
    print(b.grad_fn.next_functions)
    show(lambda: b.sum().backward())
    c = a.clone()
    change(c)
    c.sum().backward(retain_graph=True)
    show(lambda: c.sum().backward(), lambda: a.grad)

# ---- hooks on a network of in-place layers
x = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
y = x * 2
y.register_hook(lambda g: print("before", g))
z = F.relu(y, inplace=True)
z.register_hook(lambda g: print("after", g))
print(z is y, z.grad_fn.name())
z.pow(2).sum().backward()
print(x.grad)

# ---- double backward through norms with in-place activations behind them
x = torch.tensor([[[[0.5, -1.0], [2.0, 0.3]], [[1.5, 0.2], [-0.7, 0.9]]]], dtype=torch.float64, requires_grad=True)
scale = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(1, 2, 2, 2)
for norm in (nn.InstanceNorm2d(2), nn.InstanceNorm2d(2, affine=True), nn.BatchNorm2d(2), nn.GroupNorm(2, 2), nn.LayerNorm((2, 2)), nn.Identity(), nn.Flatten(2), nn.Unflatten(1, (1, 2)), nn.PixelShuffle(1), nn.Conv2d(2, 2, 1, bias=False)):
    for act in (nn.ReLU(inplace=True), nn.LeakyReLU(0.1, inplace=True), nn.ELU(inplace=True), nn.Hardtanh(-0.5, 0.5, inplace=True), nn.SiLU(inplace=True), nn.Sigmoid()):
        if isinstance(norm, nn.Conv2d):
            with torch.no_grad():
                norm.weight.copy_(torch.tensor([[1.0, -0.5], [0.25, 2.0]]).reshape(2, 2, 1, 1))
        net = nn.Sequential(norm, act).double()
        try:
            y = net(x * 1)
            (g,) = torch.autograd.grad((y.reshape(scale.shape) ** 2 * scale).sum(), x, create_graph=True)
            (h,) = torch.autograd.grad((g**2).sum(), x)
            print(type(norm).__name__, type(act).__name__, y.grad_fn.name(), y._is_view())
            print((g * 1000).round().int().tolist(), (h * 100).round().int().tolist())
        except Exception as error:
            print(type(norm).__name__, type(act).__name__, f"{type(error).__name__}: {error}".partition("\n")[0])

# ---- double backward through views changed in place by what saves its result
a = torch.tensor([0.5, 1.0, 1.5], dtype=torch.float64, requires_grad=True)
for change in (lambda v: v.exp_(), lambda v: v.sigmoid_(), lambda v: v.tanh_(), lambda v: v.sqrt_(), lambda v: v.reciprocal_(), lambda v: v.rsqrt_(), lambda v: v.relu_()):
    b = a * 1
    v = b[1:]
    change(v)
    w = v.view(2)
    (g,) = torch.autograd.grad((w**2).sum() + (b**3).sum(), a, create_graph=True)
    (h,) = torch.autograd.grad((g**2).sum(), a, create_graph=True)
    print(g.detach(), h.detach(), torch.autograd.grad(h.sum(), a)[0])

# ---- constructors in messages
show(lambda: nn.Conv2d(), lambda: nn.Conv1d(1, 2), lambda: nn.Conv2d(1, 2, 3, foo=1), lambda: nn.ConvTranspose2d(1))
show(lambda: nn.BatchNorm2d(), lambda: nn.BatchNorm1d(3, foo=2), lambda: nn.InstanceNorm2d(), lambda: nn.LayerNorm())
show(lambda: nn.MaxPool2d(), lambda: nn.AvgPool2d(), lambda: nn.LPPool2d(), lambda: nn.AdaptiveAvgPool2d())
show(lambda: nn.AdaptiveMaxPool2d(), lambda: nn.MaxUnpool2d(), lambda: nn.FractionalMaxPool2d(), lambda: nn.CELU(foo=1))
show(lambda: nn.Dropout(foo=1), lambda: nn.Dropout2d(1, 2, 3), lambda: nn.ReLU(1, 2, 3), lambda: nn.Softmax(1, 2))
show(lambda: nn.ZeroPad2d(), lambda: nn.ConstantPad1d(), lambda: nn.ReflectionPad2d(), lambda: nn.CircularPad3d())
show(lambda: nn.MSELoss(1, 2, 3, 4, 5), lambda: nn.BCELoss(foo=1), lambda: nn.HingeEmbeddingLoss(foo=1))
show(lambda: nn.TransformerEncoderLayer(), lambda: nn.Linear(), lambda: nn.Embedding(), lambda: nn.Hardshrink(1, 2))
class Own(nn.Conv2d):
    pass
show(lambda: Own(), lambda: torch.optim.AdamW(), lambda: torch.optim.lr_scheduler.LambdaLR(None))
show(lambda: isinstance(nn.ReflectionPad2d(1), nn.ReflectionPad1d), lambda: nn.ReflectionPad2d(1), lambda: nn.CircularPad1d(2))
