# batches from a generator, epochs from another
import torch
import torch.nn.functional as F


def batches(x, y, size, shuffle=True):
    order = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for start in range(0, len(x), size):
        idx = order[start:start + size]
        yield x[idx], y[idx]


def epochs(n, *args, **kwargs):
    for epoch in range(n):
        for step, batch in enumerate(batches(*args, **kwargs)):
            yield epoch, step, batch


def running_mean(alpha=0.9):
    mean = None
    while True:
        value = yield mean
        mean = value if mean is None else alpha * mean + (1 - alpha) * value


torch.manual_seed(7)
x = torch.randn(30, 2)
true_w = torch.tensor([[2.0], [-3.4]])
y = x @ true_w + 4.2 + 0.01 * torch.randn(30, 1)
w = torch.zeros(2, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
smooth = running_mean()
next(smooth)
for epoch, step, (xb, yb) in epochs(3, x, y, size=8):
    loss = F.mse_loss(xb @ w + b, yb)
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p -= 0.1 * p.grad
            p.grad.zero_()
    average = smooth.send(loss.item())
    if step == 0:
        print(f'epoch {epoch} loss {loss.item():.4f} smooth {average:.4f}')
smooth.close()
print(w.flatten(), b)


def chunks(seq, n):
    it = iter(seq)
    while True:
        chunk = []
        try:
            for _ in range(n):
                chunk.append(next(it))
        except StopIteration:
            if chunk:
                yield tuple(chunk)
            return
        yield tuple(chunk)


print(list(chunks(range(7), 3)), sum(len(c) for c in chunks('abcdefg', 2)))
