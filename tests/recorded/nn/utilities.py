# nn.utils and nn.init
import torch
import torch.nn as nn


def attempt(f):
    try:
        print(f())
    except (RuntimeError, TypeError, ValueError) as e:
        print(type(e).__name__, e)


ps = [torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)]
print(nn.utils.clip_grad_norm_(ps, 1.0))
ps[0].grad = torch.tensor([3.0, 4.0])
ps[1].grad = torch.tensor([12.0])
print(nn.utils.clip_grad_norm_(ps, 1.3), ps[0].grad, ps[1].grad)
print(nn.utils.clip_grad_norm_(ps, 0.5, norm_type=float("inf")), ps[0].grad)
print(nn.utils.clip_grad_norm_(ps[1], 1.0, 1), nn.utils.clip_grad_norm_(iter(ps), 1.0))
ps[0].grad = torch.tensor([float("nan"), 1.0])
attempt(lambda: nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True))
nn.utils.clip_grad_value_(ps, 0.2)
print(ps[0].grad)
print(nn.utils.parameters_to_vector(ps))
nn.utils.vector_to_parameters(torch.tensor([5.0, 6.0, 7.0]), ps)
print(ps)
attempt(lambda: nn.utils.vector_to_parameters([1], ps))
print(nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True))
print(nn.utils.rnn.pad_sequence([torch.ones(2, 2), torch.ones(1, 2)], padding_value=-1.0, padding_side="left"))

w = torch.zeros(3, 4)
print(nn.init.eye_(w))
print(nn.init.dirac_(torch.zeros(2, 2, 3)), nn.init.dirac_(torch.zeros(4, 1, 3), groups=2).sum())
print(nn.init.constant_(w, 2.0)[0], nn.init.ones_(w)[0], nn.init.zeros_(w)[0])
for name, slope in (("tanh", None), ("leaky_relu", 0.2), ("relu", None), ("selu", None), ("linear", None)):
    print(name, nn.init.calculate_gain(name, slope))
attempt(lambda: nn.init.calculate_gain("nothing"))
attempt(lambda: nn.init.calculate_gain("leaky_relu", "x"))
attempt(lambda: nn.init.xavier_uniform_(torch.ones(2)))
attempt(lambda: nn.init.kaiming_normal_(torch.ones(2, 2), mode="x"))
attempt(lambda: nn.init.eye_(torch.ones(2)))
attempt(lambda: nn.init.dirac_(torch.ones(2)))
attempt(lambda: nn.init.orthogonal_(torch.ones(2)))
attempt(lambda: nn.init.sparse_(torch.ones(2), 0.1))
w = nn.init.orthogonal_(torch.empty(4, 3), gain=2.0)
print(torch.allclose(w.t() @ w, 4 * torch.eye(3), atol=1e-5))
print(nn.init.trunc_normal_(torch.empty(1000), 0.0, 1.0, -1.0, 1.0).abs().max() <= 1)
print((nn.init.sparse_(torch.empty(10, 4), 0.3) == 0).sum(0))
w = nn.init.kaiming_uniform_(torch.empty(200, 100), a=5**0.5)
print(w.abs().max() <= 0.1, w.abs().max() > 0.099)
w = nn.init.xavier_normal_(torch.empty(200, 100))
print(abs(w.std() - (2 / 300) ** 0.5) < 0.002, abs(w.mean()) < 0.002)
layer = nn.Linear(3, 2)
print((layer.weight.abs() <= 3**-0.5).all(), (layer.bias.abs() <= 3**-0.5).all(), layer.weight.is_leaf)
table = nn.Embedding.from_pretrained(torch.eye(3))
print(table(torch.tensor([0, 2])), table.weight.requires_grad)
