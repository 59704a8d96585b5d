"""What the losses and activations say of arguments that do not fit."""
import torch
import torch.nn.functional as F


def tell(name, call):
    try:
        print(name, call())
    except Exception as e:
        print(name, type(e).__name__, e)


x = torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, -0.3]])
classes = torch.tensor([0, 1])
targets = {
    "probabilities of another shape": torch.ones(2, 2), "int32": classes.int(), "bool": classes.bool(),
    "floats": torch.tensor([0.0, 1.0]), "too many": torch.tensor([0, 1, 1]), "beyond": torch.tensor([0, 3]),
    "negative": torch.tensor([0, -1]), "0-d": torch.tensor(1), "three dims": torch.ones(2, 3, 1), "a list": [0, 1],
    "rows": torch.ones(3, 2), "ints of its shape": torch.ones(2, 3).long(),
}
for name, target in targets.items():
    tell("cross_entropy, " + name, lambda: F.cross_entropy(x, target))
    tell("nll_loss, " + name, lambda: F.nll_loss(x, target))
tell("weight", lambda: F.cross_entropy(x, classes, weight=torch.ones(2)))
tell("weight of probabilities", lambda: F.cross_entropy(x, torch.ones(2, 3), weight=torch.ones(2)))
tell("weight's dtype", lambda: F.cross_entropy(x, classes, weight=torch.ones(3).double()))
tell("images", lambda: F.cross_entropy(torch.zeros(2, 3, 4), torch.zeros(2, 5).long()))
tell("one sample", lambda: F.cross_entropy(x[0], torch.tensor([1, 2])))
tell("0-d input", lambda: F.cross_entropy(torch.tensor(1.0), torch.tensor(0)))

a, b = torch.ones(3), torch.ones(2)
for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div, F.poisson_nll_loss):
    name = loss.__name__
    tell(name, lambda: loss(a, b))
    tell(name, lambda: loss(a, b, reduction="x"))
    tell(name, lambda: loss(a, a, reduction="x"))
    tell(name, lambda: loss(a, 1.0))
    tell(name, lambda: loss(a, a.long()))
for loss in (F.mse_loss, F.smooth_l1_loss, F.huber_loss):
    tell(loss.__name__, lambda: loss(a.long(), a))
    tell(loss.__name__, lambda: loss(a, a.double()).dtype)
p, one = torch.full((1, 3), 0.25), torch.ones(1, 3)
tell("bce", lambda: F.binary_cross_entropy(p, one.long()))
tell("bce", lambda: F.binary_cross_entropy(p, 1.0))
tell("bce", lambda: F.binary_cross_entropy(p, one, weight=torch.ones(2)))
tell("bce", lambda: F.binary_cross_entropy(p, one, weight=torch.ones(2, 1)))
tell("bce", lambda: F.binary_cross_entropy(p + 2, one))
tell("logits", lambda: F.binary_cross_entropy_with_logits(p, one.long()))
tell("logits", lambda: F.binary_cross_entropy_with_logits(p.long(), one))
tell("logits", lambda: F.binary_cross_entropy_with_logits(p, one, weight=torch.ones(2)))
tell("logits", lambda: F.binary_cross_entropy_with_logits(p, one, pos_weight=torch.ones(2)))
tell("soft margin", lambda: F.soft_margin_loss(a, 1.0))
tell("multilabel margin", lambda: F.multilabel_margin_loss(a, b.long()))
tell("cosine", lambda: F.cosine_similarity(torch.ones(2), torch.ones(3), dim=0))
tell("cosine", lambda: F.cosine_similarity(torch.ones(2).long(), torch.ones(2).long(), dim=0))
tell("softmax", lambda: F.softmax(torch.ones(2, 2, 2).long(), dim=0))
tell("softmax", lambda: F.softmax(torch.ones(2, 2, 2).long(), dim=2))
tell("softmax", lambda: F.softmax(a, dim="a"))
tell("softmax", lambda: F.softmax(a, dim=5))
tell("softshrink", lambda: F.softshrink(a, -1))
tell("softshrink", lambda: F.softshrink(a.double(), -0.5))
tell("Parameter", lambda: torch.nn.Parameter(3))
tell("SGD", lambda: torch.optim.SGD([a], momentum="a"))
tell("Adam", lambda: torch.optim.Adam([a], lr="a"))
adam = torch.optim.Adam([torch.nn.Parameter(a)])
adam.param_groups[0]["params"][0].grad = a
adam.step()
adam.state_dict()["state"][0]["step"] = 3
tell("Adam", adam.step)
