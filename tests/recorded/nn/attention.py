# MultiheadAttention and Transformer with fixed weights: masks, options, errors
import torch
import torch.nn as nn


def fill(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((torch.arange(p.numel(), dtype=p.dtype) * 0.37 + i).sin().reshape(p.shape) * 0.5)
    return module


def attempt(f):
    try:
        print(f())
    except (AssertionError, RuntimeError, ValueError) as e:
        print(type(e).__name__, e)


x2 = torch.linspace(-2, 2, 12).reshape(3, 4)
x3 = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
for kw in (
    {}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 4, "vdim": 3}, {"batch_first": True}, {"bias": False},
):
    m = fill(nn.MultiheadAttention(4, 2, **kw))
    value = x3[..., :3] if "vdim" in kw else x3
    out, weights = m(x3, x3, value)
    print(kw, out, out.grad_fn.name())
    print(weights.detach())
    out, weights = m(x3, x3, value, need_weights=False)
    print(f"{out.sum():.4f}", weights, list(m.state_dict()))
m = fill(nn.MultiheadAttention(4, 2))
mask = nn.Transformer.generate_square_subsequent_mask(2)
print(mask)
print(m(x3, x3, x3, attn_mask=mask, average_attn_weights=False))
print(m(x3, x3, x3, key_padding_mask=torch.tensor([[False, True], [False, False], [False, True]]))[1])
padded = torch.tensor([[False, True], [True, True], [False, False]])  # a sequence without an element
for need in (True, False):
    query = x3.clone().requires_grad_()
    out, _ = m(query, x3, x3, key_padding_mask=padded, need_weights=need)
    print(need, out[:, 1].detach(), f"{torch.autograd.grad(out[:, 0].sum(), query)[0].abs().sum():.4f}")
print(m(x2, x2, x2))
model = fill(nn.Transformer(4, 2, 1, 1, 8, dropout=0.0, batch_first=True))
print(model(x3, x3 * 2).detach())
attempt(lambda: nn.MultiheadAttention(4, 3))
attempt(lambda: nn.MultiheadAttention(0, 1))
attempt(lambda: m(x3[0, 0], x3, x3))
attempt(lambda: m(x3, x3[0], x3))
attempt(lambda: m(x3, x3, x3, is_causal=True))
attempt(lambda: m(x3, x3[:1], x3))
attempt(lambda: m(x3, x3, x3, attn_mask=torch.zeros(3, 3)))
attempt(lambda: m(x3[..., :2], x3, x3))
attempt(lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"))
