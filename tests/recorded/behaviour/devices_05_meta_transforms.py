"""Transforms, checkpoints, recurrent layers, initialisation and Functions on tensors without values."""

import torch
from torch.func import vmap, grad, jvp, jacrev
x = torch.ones(3, 2, device="meta")


def f(v):
    return (v.sin() * v).sum()


def t(g):
    try:
        print(g())
    except RuntimeError as e:
        print(type(e).__name__, e)


t(lambda: vmap(f)(x))
t(lambda: grad(f)(x))
t(lambda: vmap(grad(f))(x))
t(lambda: jvp(f, (x,), (x,)))
t(lambda: jacrev(f)(x))
t(lambda: vmap(lambda a, b: a @ b)(x, x))
t(lambda: torch.autograd.functional.jacobian(f, x))
t(lambda: torch.autograd.functional.hessian(f, x).shape)
from torch.utils.checkpoint import checkpoint
w = torch.ones(2, device="meta", requires_grad=True)
t(lambda: checkpoint(lambda a: (a * w).sum(), x, use_reentrant=False).backward())
t(lambda: w.grad)
l = torch.nn.LSTM(3, 4, 2, batch_first=True, device="meta")
t(lambda: l(torch.ones(2, 5, 3, device="meta"))[1][0].shape)
m = torch.nn.MultiheadAttention(4, 2, device="meta")
q = torch.ones(3, 1, 4, device="meta")
t(lambda: m(q, q, q)[0].shape)
t(lambda: torch.nn.Transformer(8, 2, 1, 1, 16, device="meta")(torch.ones(3, 1, 8, device="meta"), torch.ones(2, 1, 8, device="meta")).shape)
t(lambda: torch.nn.Embedding(10, 3, device="meta")(torch.zeros(2, dtype=torch.long, device="meta")).shape)
t(lambda: torch.nn.utils.clip_grad_norm_([w], 1.0))
t(lambda: torch.nn.init.orthogonal_(torch.empty(3, 3, device="meta")))
t(lambda: torch.nn.init.trunc_normal_(torch.empty(3, 3, device="meta")).shape)
t(lambda: torch.nn.utils.parameters_to_vector([w]).shape)
t(lambda: torch.distributions.Normal(w, w).sample().shape)
t(lambda: torch.nn.Dropout()(x).shape)
t(lambda: x[torch.zeros(2, dtype=torch.long, device="meta")].shape)
t(lambda: x[[0, 1]].shape)


class E(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a.exp()

    @staticmethod
    def backward(ctx, g):
        print(g)
        return g * ctx.saved_tensors[0]


t(lambda: E.apply(w).sum().backward())
t(lambda: w.grad)
w.register_hook(lambda g: print("hook", g))
t(lambda: w.sum().backward())
