# Every optimiser with several options: parameters, versions and state after some steps with given gradients
import torch


def show(value):
    if isinstance(value, torch.Tensor):
        return show(value.tolist())
    if isinstance(value, (list, tuple)):
        return [show(v) for v in value]
    return f"{value:.3f}" if isinstance(value, float) else value


cases = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}), ("SGD", {"lr": torch.tensor(0.1)}),
    ("Adam", {}), ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"betas": (0.3, 0.9), "maximize": True}), ("AdamW", {"lr": 0.1}), ("AdamW", {"lr": 0.1, "amsgrad": True}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1}), ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}), ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1}), ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("Adadelta", {"weight_decay": 0.1}), ("Rprop", {}), ("ASGD", {"lr": 0.1, "weight_decay": 0.1, "t0": 2}),
]
for name, options in cases:
    for dtype in (torch.float32, torch.float64):
        ps = [
            torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=dtype, requires_grad=True),
            torch.tensor(1.5, dtype=dtype, requires_grad=True),
            torch.tensor([3.0], dtype=dtype, requires_grad=True),
        ]
        opt = getattr(torch.optim, name)(ps, **options)
        for step in range(7):
            ps[0].grad = torch.tensor([[0.3, -0.2], [1.0 - step, 0.1 * step]], dtype=dtype)
            ps[1].grad = torch.tensor(0.5 - 0.2 * step, dtype=dtype)
            opt.step()
        print(name, options, [show(p) for p in ps], [p._version for p in ps])
        state = opt.state_dict()["state"]
        print({i: {k: show(v) for k, v in s.items()} for i, s in state.items()})
    print(opt)

for options in ({"max_iter": 3}, {"line_search_fn": "strong_wolfe", "max_iter": 6}, {"history_size": 2, "lr": 0.5}):
    p = torch.tensor([1.5, -2.0], dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([p], **options)
    calls = []

    def closure(p=p, calls=calls):
        a, b = p.tolist()
        loss = (1 - a) ** 2 + 5 * (b - a * a) ** 2
        p.grad = torch.tensor([-2 * (1 - a) - 20 * a * (b - a * a), 10 * (b - a * a)], dtype=torch.float64)
        calls.append(loss)
        return torch.tensor(loss)

    for _ in range(4):
        print(f"{opt.step(closure).item():.4f}", show(p), len(calls))
    state = opt.state_dict()["state"][0]
    print(list(state), state["func_evals"], state["n_iter"], show(state["d"]), len(state["old_dirs"]))
try:
    opt.step()
except TypeError as e:
    print(type(e).__name__, e)
