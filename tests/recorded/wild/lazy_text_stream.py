# a pipeline of generators: lines, words, pairs, batches
import textwrap
import torch
from torch import nn


def lines():
    text = """\
        one fish two fish
        red fish blue fish
        black fish blue fish
        old fish new fish"""
    for line in textwrap.dedent(text).splitlines():
        yield line


def words(source):
    for line in source:
        yield from line.split()


def windowed(source, n=2):
    window = []
    for item in source:
        window.append(item)
        if len(window) == n:
            yield tuple(window)
            window.pop(0)


def batched(source, size, index):
    batch = []
    try:
        while True:
            a, b = next(source)
            batch.append((index.setdefault(a, len(index)), index.setdefault(b, len(index))))
            if len(batch) == size:
                yield torch.tensor(batch)
                batch.clear()
    except StopIteration:
        pass
    finally:
        print('stream ended')
    if batch:
        yield torch.tensor(batch)


torch.manual_seed(0)
index = {}
first = batched(windowed(words(lines())), 4, index)
for pairs in first:
    print(tuple(pairs.shape), pairs[:, 0].tolist())
table = nn.Embedding(len(index), 2)
total = sum((table(p).prod(dim=1)).sum() for p in batched(windowed(words(lines())), 5, index))
total.backward()
print(f'{total:.4f} {table.weight.grad.norm():.4f}', len(index))
countdown = (n for n in range(3, 0, -1))
print(next(countdown), [*countdown], next(countdown, 'empty'))
