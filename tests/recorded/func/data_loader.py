"""torch.utils.data: data sets, samplers, batches."""
import torch
from torch.utils.data import *


def case_0():
    class D(Dataset):
        def __init__(self, n): self.n = n
        def __len__(self): return self.n
        def __getitem__(self, i):
            if i >= self.n: raise IndexError
            return torch.tensor([i, i * i], dtype=torch.float32), i, {"a": float(i), "s": str(i)}, (i, [i, 2])
    d = D(7)
    print(len(d), d[3])
    for b in DataLoader(d, batch_size=3): print(b)
    for b in DataLoader(d, batch_size=3, drop_last=True): print(b[1])
    print(len(DataLoader(d, batch_size=3)), len(DataLoader(d, batch_size=3, drop_last=True)), len(DataLoader(d, batch_size=None)))
    for b in DataLoader(d, batch_size=None): print(b); break
    s = sorted(i for b in DataLoader(d, batch_size=2, shuffle=True) for i in b[1].tolist())
    print(s)
    it = iter(DataLoader(d, batch_size=2)); print(next(it)[1])
    a, b = random_split(d, [5, 2]); print(len(a), len(b), sorted(x[1] for x in [a[i] for i in range(5)] + [b[0], b[1]]))
    print([len(p) for p in random_split(d, [0.5, 0.5])])
    print((d + D(2))[8][1], len(ConcatDataset([d, d, d])))
    for x, y in DataLoader(TensorDataset(torch.arange(4.), torch.arange(4)), batch_size=2): print(x, y)
    print(Subset(d, [2, 4])[1][1])
    for i, (x, n, _, _) in enumerate(DataLoader(d, batch_size=4, collate_fn=None)): print(i, x.shape)
    print([x for x in DataLoader(d, batch_size=4, collate_fn=lambda b: len(b))])


def case_1():
    class I(IterableDataset):
        def __iter__(self): return iter(range(5))
    for b in DataLoader(I(), batch_size=2): print(b)
    print(list(DataLoader(I(), batch_size=None)))
    try: DataLoader(I(), shuffle=True)
    except ValueError as e: print(e)
    try: len(DataLoader(I()))
    except TypeError as e: print(e)


def case_2():
    for f in (lambda: DataLoader([1, 2], batch_size=0), lambda: DataLoader([1], shuffle=True, sampler=[0]), lambda: DataLoader([1], batch_size=None, drop_last=True), lambda: DataLoader([1], batch_size=2, batch_sampler=[[0]]), lambda: RandomSampler([], num_samples=0), lambda: DataLoader([], shuffle=True), lambda: random_split([1, 2, 3], [1, 1]), lambda: random_split([1, 2, 3], [1.5, -0.5]), lambda: TensorDataset(torch.ones(2), torch.ones(3)), lambda: default_collate([object()]), lambda: default_collate([[1], [1, 2]]), lambda: list(DataLoader([torch.ones(2), torch.ones(3)], batch_size=2)), lambda: WeightedRandomSampler([1., 2.], 0), lambda: Dataset()[0]):
        try: print(f())
        except Exception as e: print(type(e).__name__, str(e).replace("[0.5, 1.5]", ""))


def case_3():
    print(list(BatchSampler(SequentialSampler(range(10)), batch_size=3, drop_last=False)))
    print(list(BatchSampler(SequentialSampler(range(10)), batch_size=3, drop_last=True)))
    print(sorted(RandomSampler(range(6))), len(RandomSampler(range(6), replacement=True, num_samples=50)), len(list(RandomSampler(range(6), replacement=True, num_samples=50))), len(list(RandomSampler(range(6), num_samples=15))))
    print(sorted(SubsetRandomSampler([3, 5, 9])), list(WeightedRandomSampler([0., 1., 0.], 4)))
    print(default_collate([1, 2]), default_collate([1., 2.]), default_collate(["a", "b"]), default_collate([{"A": 0, "B": 1}, {"A": 100, "B": 100}]), default_collate([(0, 1), (2, 3)]))
    print(list(DataLoader([1, 2, 3], batch_size=2, sampler=[2, 0])))
    print(get_worker_info(), default_convert([1, (2, "x")]))
    g = torch.Generator(); g.manual_seed(1)
    a = [b.tolist() for b in DataLoader(range(10), batch_size=5, shuffle=True, generator=g)]
    g.manual_seed(1)
    print(a == [b.tolist() for b in DataLoader(range(10), batch_size=5, shuffle=True, generator=g)])
    print(len(StackDataset(range(3), range(3))), StackDataset(a=range(3), b=range(1, 4))[1])


for case in (case_0, case_1, case_2, case_3):
    print(case.__name__)
    case()
