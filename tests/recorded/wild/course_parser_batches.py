"""A feed-forward parser's training loop: batches of numpy arrays, counted in a log that names its function and line."""

import logging
import math
import sys

import numpy as np
import torch
from torch import nn

log = logging.getLogger(__name__)
log.setLevel(logging.INFO)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)-7s %(name)s:%(lineno)03d:%(funcName)s %(message)s"))
log.addHandler(handler)


def pick(part, rows):
    return part[rows] if type(part) is np.ndarray else [part[i] for i in rows]


def batches(data, size, rng):
    is_parts = type(data) is list and (type(data[0]) is list or type(data[0]) is np.ndarray)
    n = len(data[0]) if is_parts else len(data)
    order = np.arange(n)
    rng.shuffle(order)
    for start in np.arange(0, n, size):
        rows = order[start : start + size]
        yield [pick(part, rows) for part in data] if is_parts else pick(data, rows)


class Parser(nn.Module):
    def __init__(self, table, features, hidden=8, classes=3):
        super().__init__()
        self.words = nn.Embedding(*table.shape)
        self.words.weight = nn.Parameter(torch.tensor(table))
        self.hidden = nn.Linear(features * table.shape[1], hidden)
        nn.init.xavier_uniform_(self.hidden.weight, gain=1)
        self.out = nn.Linear(hidden, classes)

    def forward(self, t):
        x = self.words(t)
        return self.out(torch.relu(self.hidden(x.view(x.shape[0], -1))))


def one_epoch(model, data, optimizer, rng):
    log.info("%d batches", math.ceil(len(data[0]) / 16))
    total = 0.0
    for x, y in batches(data, 16, rng):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.from_numpy(x).long()), torch.from_numpy(y.nonzero()[1]))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(data[0])


def main():
    rng = np.random.RandomState(0)
    torch.manual_seed(0)
    table = np.asarray(rng.normal(0, 0.9, (20, 4)), dtype="float32")
    x, labels = rng.randint(0, 20, (40, 5)), rng.randint(0, 3, 40)
    one_hot = np.zeros((40, 3))
    one_hot[np.arange(40), labels] = 1
    model = Parser(table, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        log.info(f"epoch {epoch}: {one_epoch(model, [x, one_hot], optimizer, rng):.3f}")
    print([len(part) for part in batches(list(range(10)), 4, rng)], type(x) is np.ndarray, type(labels) is list)


if __name__ == "__main__":
    log.info("start")
    main()
