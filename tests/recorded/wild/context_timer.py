import contextlib
import time
import torch


@contextlib.contextmanager
def timer(name, store):
    start = time.perf_counter()
    try:
        yield store
    finally:
        store[name] = time.perf_counter() - start
        print(f'{name} done')


@contextlib.contextmanager
def frozen(module):
    before = [p.requires_grad for p in module.parameters()]
    for p in module.parameters():
        p.requires_grad_(False)
    yield module
    for p, flag in zip(module.parameters(), before):
        p.requires_grad_(flag)


class Timer:
    def __enter__(self):
        self.start = time.time()
        return self

    def __exit__(self, *args):
        self.interval = time.time() - self.start


times = {}
with timer('matmul', times) as t:
    a = torch.ones(20, 20) @ torch.ones(20, 20)
print(a.sum().item(), t is times, times['matmul'] >= 0)
layer = torch.nn.Linear(2, 2)
with frozen(layer) as f, Timer() as clock:
    print([p.requires_grad for p in f.parameters()], f(torch.ones(1, 2)).requires_grad)
print([p.requires_grad for p in layer.parameters()], clock.interval < 60)
try:
    with timer('failing', times):
        raise RuntimeError('inside')
except RuntimeError as e:
    print('caught', e, sorted(times))
with contextlib.suppress(ZeroDivisionError), contextlib.nullcontext(5) as five:
    print(five)
    1 / 0
print(time.strftime('%Y', time.gmtime(0)))
