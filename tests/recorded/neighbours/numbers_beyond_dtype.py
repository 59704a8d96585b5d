# A number beyond the range of float16 or float32: computed in float32 and rounded once, or refused
import torch

CASES = {
    "x * n": lambda x, y, n: x * n,
    "n * x": lambda x, y, n: n * x,
    "x / n": lambda x, y, n: x / n,
    "n / x": lambda x, y, n: n / x,
    "x + n": lambda x, y, n: x + n,
    "x - n": lambda x, y, n: x - n,
    "n - x": lambda x, y, n: n - x,
    "torch.add(x, y, alpha=n)": lambda x, y, n: torch.add(x, y, alpha=n),
    "torch.sub(x, y, alpha=n)": lambda x, y, n: torch.sub(x, y, alpha=n),
    "torch.rsub(x, y, alpha=n)": lambda x, y, n: torch.rsub(x, y, alpha=n),
    "torch.rsub(x, n)": lambda x, y, n: torch.rsub(x, n),
    "torch.mul(x, n)": lambda x, y, n: torch.mul(x, n),
    "torch.div(x, n, rounding_mode='floor')": lambda x, y, n: torch.div(x, n, rounding_mode='floor'),
    "torch.div(x, n, rounding_mode='trunc')": lambda x, y, n: torch.div(x, n, rounding_mode='trunc'),
    "x // n": lambda x, y, n: x // n,
    "x % n": lambda x, y, n: x % n,
    "torch.remainder(x, n)": lambda x, y, n: torch.remainder(x, n),
    "torch.fmod(x, n)": lambda x, y, n: torch.fmod(x, n),
    "torch.addcmul(x, y, y, value=n)": lambda x, y, n: torch.addcmul(x, y, y, value=n),
    "torch.lerp(x, y, n)": lambda x, y, n: torch.lerp(x, y, n),
    "torch.clamp(x, -n, n)": lambda x, y, n: torch.clamp(x, -n, n),
    "torch.clamp(x, min=n)": lambda x, y, n: torch.clamp(x, min=n),
    "torch.clamp(x, max=n)": lambda x, y, n: torch.clamp(x, max=n),
    "torch.clamp(x, max=-n)": lambda x, y, n: torch.clamp(x, max=-n),
    "torch.clip(x, 0, n)": lambda x, y, n: torch.clip(x, 0, n),
    "n ** x": lambda x, y, n: n ** x,
    "torch.pow(n, x)": lambda x, y, n: torch.pow(n, x),
    "x > n": lambda x, y, n: x > n,
    "x < n": lambda x, y, n: x < n,
    "x == n": lambda x, y, n: x == n,
    "x != n": lambda x, y, n: x != n,
    "x >= n": lambda x, y, n: x >= n,
    "x <= n": lambda x, y, n: x <= n,
    "n > x": lambda x, y, n: n > x,
    "x.masked_fill(x > 0, n)": lambda x, y, n: x.masked_fill(x > 0, n),
    "x.clone().fill_(n)": lambda x, y, n: x.clone().fill_(n),
    "torch.full_like(x, n)": lambda x, y, n: torch.full_like(x, n),
    "torch.full((2,), n, dtype=x.dtype)": lambda x, y, n: torch.full((2,), n, dtype=x.dtype),
    "torch.nn.functional.threshold(x, 0.5, n)": lambda x, y, n: torch.nn.functional.threshold(x, 0.5, n),
    "torch.nn.functional.hardshrink(x, n)": lambda x, y, n: torch.nn.functional.hardshrink(x, n),
    "torch.nan_to_num(x, nan=n)": lambda x, y, n: torch.nan_to_num(x, nan=n),
    "torch.nan_to_num(x / 0, posinf=n)": lambda x, y, n: torch.nan_to_num(x / 0, posinf=n),
    "x.clone().mul_(n)": lambda x, y, n: x.clone().mul_(n),
    "x.clone().div_(n)": lambda x, y, n: x.clone().div_(n),
    "x.clone().add_(n)": lambda x, y, n: x.clone().add_(n),
    "x.clone().sub_(n)": lambda x, y, n: x.clone().sub_(n),
    "x.clone().add_(y, alpha=n)": lambda x, y, n: x.clone().add_(y, alpha=n),
    "x.clone().clamp_(-n, n)": lambda x, y, n: x.clone().clamp_(-n, n),
    "x.clone().lerp_(y, n)": lambda x, y, n: x.clone().lerp_(y, n),
    "x.clone().addcmul_(y, y, value=n)": lambda x, y, n: x.clone().addcmul_(y, y, value=n),
    "x.clone().remainder_(n)": lambda x, y, n: x.clone().remainder_(n),
    "x.clone().fmod_(n)": lambda x, y, n: x.clone().fmod_(n),
    "torch.true_divide(x, n)": lambda x, y, n: torch.true_divide(x, n),
    "torch.floor_divide(x, n)": lambda x, y, n: torch.floor_divide(x, n),
    "x * torch.tensor(n)": lambda x, y, n: x * torch.tensor(n),
    "x + torch.tensor(n)": lambda x, y, n: x + torch.tensor(n),
    "x / torch.tensor(n)": lambda x, y, n: x / torch.tensor(n),
    "torch.cumsum(x * n, 0)": lambda x, y, n: torch.cumsum(x * n, 0),
    "torch.sum(x * n)": lambda x, y, n: torch.sum(x * n),
    "(x * n) / n": lambda x, y, n: (x * n) / n,
    "x.index_fill(0, torch.tensor([0]), n)": lambda x, y, n: x.index_fill(0, torch.tensor([0]), n),
    "torch.nn.functional.pad(x, (1, 1), value=n)": lambda x, y, n: torch.nn.functional.pad(x, (1, 1), value=n),
    "torch.eq(x, n)": lambda x, y, n: torch.eq(x, n),
    "torch.gt(x, n)": lambda x, y, n: torch.gt(x, n),
    "x.new_full((1,), n)": lambda x, y, n: x.new_full((1,), n),
}
NUMBERS = {torch.float16: (0.1, 65536, 1e6, -70000.0, 1e300, float("inf")), torch.float32: (1e39, 1e300, -1e39)}
for dtype, numbers in NUMBERS.items():
    for n in numbers:
        for name, f in CASES.items():
            x = torch.tensor([0.5, -1.5, 0.0, 3.0, 0.001], dtype=dtype, requires_grad=True)
            y = torch.tensor([2.0, 0.25, -3.0, 1.0, 7.0], dtype=dtype, requires_grad=True)
            try:
                z = f(x, y, n)
                print(dtype, n, name, z.dtype, z.tolist())
                if z.requires_grad:
                    z.sum().backward()
                    print("    gradients", *(None if t.grad is None else t.grad.tolist() for t in (x, y)))
            except RuntimeError as e:
                print(dtype, n, name, e)
