# Parameter groups, state_dicts, hooks, closures and errors of optimisers
import torch
import torch.nn as nn
import torch.optim as optim


def attempt(f):
    try:
        print(f())
    except (KeyError, RuntimeError, TypeError, ValueError) as e:
        print(type(e).__name__, e)


a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0], requires_grad=True)
c = torch.tensor([4.0], requires_grad=True)
opt = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5, "momentum": 0.9}], lr=0.1)
print(opt)
print(len(opt.param_groups), opt.param_groups[1]["lr"], opt.defaults)
opt.add_param_group({"params": [c], "weight_decay": 0.1})
for p in (a, b, c):
    p.grad = torch.ones_like(p)
opt.step()
opt.step()
print(a, b, c)
saved = opt.state_dict()
print(saved["param_groups"])
print(saved["state"])
other = optim.SGD([{"params": [a.detach().clone().requires_grad_()]}, {"params": [b.detach().clone()]},
                   {"params": [c.detach().clone()]}], lr=9.0)
other.load_state_dict(saved)
print([g["lr"] for g in other.param_groups], [list(s) for s in other.state.values()])
attempt(lambda: optim.SGD([a], lr=0.1).load_state_dict(saved))
attempt(lambda: optim.SGD([{"params": [a, b]}, {"params": [c]}, {"params": [a * 0]}], lr=0.1))
attempt(lambda: optim.SGD([{"params": [a]}, {"params": [b]}, {"params": [c, torch.ones(1)]}]).load_state_dict(saved))
attempt(lambda: optim.SGD([], lr=0.1))
attempt(lambda: optim.SGD(a, lr=0.1))
attempt(lambda: optim.SGD([3], lr=0.1))
attempt(lambda: optim.SGD([a, "x"], lr=0.1))
attempt(lambda: optim.SGD([{"params": {a, b}}], lr=0.1))
attempt(lambda: optim.SGD([{"params": [a]}, {"params": [a]}], lr=0.1))
attempt(lambda: optim.SGD([a], lr=-1))
attempt(lambda: optim.SGD([a], lr=torch.ones(2)))
attempt(lambda: optim.SGD([a], lr=0.1, momentum=-1))
attempt(lambda: optim.SGD([a], lr=0.1, weight_decay=-1))
attempt(lambda: optim.SGD([a], lr=0.1, nesterov=True))
attempt(lambda: optim.Adam([a], betas=(1.0, 0.9)))
attempt(lambda: optim.Adam([a], betas=(0.9, -0.1)))
attempt(lambda: optim.Adam([a], betas=(0, 0.9)))
attempt(lambda: optim.Adam([a], eps=-1))
attempt(lambda: optim.RMSprop([a], alpha=-1))
attempt(lambda: optim.Adagrad([a], lr_decay=-1))
attempt(lambda: optim.Adadelta([a], rho=2))
attempt(lambda: optim.Rprop([a], etas=(2, 3)))
attempt(lambda: optim.LBFGS([{"params": [a]}, {"params": [b]}]))
attempt(lambda: opt.add_param_group([c]))
attempt(lambda: opt.add_param_group({"params": [c]}))
named = optim.Adam(nn.Linear(1, 1).named_parameters())
print(named.param_groups[0]["param_names"], [type(p).__name__ for p in named.param_groups[0]["params"]])
attempt(lambda: named.add_param_group({"params": [a]}))
attempt(lambda: optim.SGD([("a", a), b]))
opt = optim.Adam([a, b])
print(opt.state, a in opt.state)
opt.zero_grad()
print(a.grad, opt.step(), a, opt.state)
a.grad = torch.ones(2)
opt.register_step_pre_hook(lambda o, args, kwargs: print("before", type(o).__name__, len(args), kwargs))
opt.register_step_post_hook(lambda o, args, kwargs: print("after", len(args), kwargs))
print(opt.step(lambda: torch.tensor(5.0)), opt.state[a]["step"], b in opt.state)
opt.zero_grad(set_to_none=False)
print(a.grad, b.grad)
p = torch.tensor([1.0], requires_grad=True)
with torch.no_grad():
    q = optim.SGD([p], lr=1.0)

    def closure():
        print("enabled", torch.is_grad_enabled())
        p.grad = torch.tensor([0.25])
        return 7

    print(q.step(closure), p)


class Halver(optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"factor": 0.5})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for w in group["params"]:
                w.mul_(group["factor"])


h = Halver([p])
h.step()
print(h, p)
attempt(lambda: optim.Optimizer([p], {}).step())
