# Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict
from collections import OrderedDict

import torch
import torch.nn as nn


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
attempt(lambda: net[5])
attempt(lambda: net[-1])
net.insert(1, nn.Tanh())
print(net)
del net[1]
print(len(net), net + nn.Sequential(nn.ReLU()))
print(nn.Sequential(nn.ReLU()) * 2)
attempt(lambda: nn.Sequential(nn.ReLU()) * 0)
attempt(lambda: nn.Sequential(nn.ReLU()) * 1.5)
print(net.pop(0), net)
net.extend([nn.ReLU()])
print(net)
net[0] = nn.Identity()
print(net, net[0:1])
net += nn.Sequential(nn.ELU())
net *= 2
print(net, [type(m).__name__ for m in net])
named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
print(named, named.a, named[1:])
attempt(lambda: nn.Sequential(3))
attempt(lambda: net.insert(40, nn.ReLU()))

items = nn.ModuleList([nn.ReLU()])
items.append(nn.Tanh())
items.extend([nn.Sigmoid()])
items.insert(0, nn.Identity())
print(items, items[1:], items[-1], len(items))
attempt(lambda: items[9])
attempt(lambda: items(1))
items[0] = nn.ELU()
del items[1]
print(items, [name for name, _ in items.named_children()])
attempt(lambda: items.extend(3))
print(items + [nn.ReLU()], items.pop(-1), len(items))
items += [nn.Linear(1, 1)]
print(items)

table = nn.ModuleDict([("x", nn.ReLU())])
table["y"] = nn.Tanh()
table.update({"z": nn.Identity()})
print(table, list(table), list(table.items()), len(table), table.pop("x"), "x" in table, list(table.values()))
attempt(lambda: table["q"])
attempt(lambda: table.update(3))
attempt(lambda: table.update([3]))
attempt(lambda: table.update([(1, 2, 3)]))
del table["y"]
print(list(table.keys()))
table.clear()
print(table)

params = nn.ParameterList([torch.ones(1)])
params.append(torch.zeros(2))
print(params, params[0], params[-1].shape, len(params), params[0:1])
attempt(lambda: params[7])
attempt(lambda: params(1))
params[0] = torch.full((3,), 2.0)
params += [torch.ones(1)]
print(list(params.state_dict()), [tuple(p.shape) for p in params])

named = nn.ParameterDict({"b": torch.ones(1), "a": torch.zeros(1)})
print(named, list(named.keys()), named["a"], list(named.state_dict()), len(named), "b" in named)
attempt(lambda: named[3])
attempt(lambda: named["zz"])
named["c"] = torch.ones(2)
print(named.pop("a"), list(named.items()), named.get("nothing"), named.setdefault("d", torch.ones(1)))
print(list((named | nn.ParameterDict({"e": torch.ones(1)})).keys()), named.popitem()[0], list(reversed(named)))
