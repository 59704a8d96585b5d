# Every schedule: rates and momenta over ten epochs, state_dicts, and warnings
import warnings

import torch
import torch.optim as optim
from torch.optim import lr_scheduler as S


def attempt(f):
    try:
        print(f())
    except (KeyError, TypeError, ValueError) as e:
        print(type(e).__name__, e)


cases = {
    "step": lambda o: S.StepLR(o, step_size=2, gamma=0.5),
    "milestones": lambda o: S.MultiStepLR(o, milestones=[2, 5, 5], gamma=0.5),
    "constant": lambda o: S.ConstantLR(o, factor=0.5, total_iters=3),
    "linear": lambda o: S.LinearLR(o, start_factor=0.25, total_iters=4),
    "exponential": lambda o: S.ExponentialLR(o, gamma=0.9),
    "polynomial": lambda o: S.PolynomialLR(o, total_iters=4, power=2.0),
    "cosine": lambda o: S.CosineAnnealingLR(o, T_max=4, eta_min=0.01),
    "lambda": lambda o: S.LambdaLR(o, lr_lambda=[lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "multiplicative": lambda o: S.MultiplicativeLR(o, lr_lambda=lambda e: 0.95),
    "cyclic": lambda o: S.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=3),
    "cyclic2": lambda o: S.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=2, step_size_down=3, mode="triangular2"),
    "range": lambda o: S.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "restarts": lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2),
    "one": lambda o: S.OneCycleLR(o, max_lr=0.5, total_steps=12),
    "three": lambda o: S.OneCycleLR(o, 0.5, epochs=3, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"),
    "sequential": lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], milestones=[3]),
    "chained": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
}
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
for kind, options in (("SGD", {"momentum": 0.9}), ("Adam", {})):
    for name, make in cases.items():
        opt = getattr(optim, kind)([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.2, **options)
        schedule = make(opt)
        print(kind, name)
        for _ in range(10):
            momenta = [g.get("momentum", g.get("betas")) for g in opt.param_groups]
            print("  ", schedule.get_last_lr(), momenta if "cy" in name or "one" in name else "")
            opt.step()
            schedule.step()
        if name not in ("sequential", "chained", "three"):
            print("  ", {k: v for k, v in schedule.state_dict().items() if not k.startswith("_")})
opt = optim.SGD([a], lr=0.1)
plateau = S.ReduceLROnPlateau(opt, patience=1, factor=0.5, cooldown=1, min_lr=0.02)
for metric in [1, 0.9, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.5, 0.6, 0.6, 0.6, 0.6]:
    plateau.step(metric)
    print(metric, plateau.get_last_lr(), plateau.num_bad_epochs, plateau.in_cooldown)
print(plateau.state_dict())
opt = optim.SGD([a], lr=torch.tensor(1.0))
S.ExponentialLR(opt, 0.5)
schedule = S.StepLR(opt, 1)
opt.step()
schedule.step()
print(opt.param_groups[0]["lr"], schedule.get_last_lr())
opt = optim.SGD([a], lr=0.1)
schedule = S.StepLR(opt, 2)
for _ in range(5):
    opt.step()
    schedule.step()
copied = S.StepLR(optim.SGD([a], lr=0.1), 2)
copied.load_state_dict(schedule.state_dict())
print(copied.last_epoch, copied.get_last_lr(), opt)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    early = S.StepLR(optim.SGD([a], lr=0.1), 2)
    early.step()
    early.get_lr()
    early.step(4)
    print([str(w.message)[:60] for w in caught], early.get_last_lr())
attempt(lambda: S.StepLR(3, 1))
attempt(lambda: S.LambdaLR(opt, [lambda e: e, lambda e: e]))
attempt(lambda: S.MultiplicativeLR(opt, 3))
attempt(lambda: S.ConstantLR(opt, 2))
attempt(lambda: S.LinearLR(opt, 0))
attempt(lambda: S.LinearLR(opt, 0.5, 2))
attempt(lambda: S.CyclicLR(optim.Adagrad([a]), 0.1, 0.2))
attempt(lambda: S.CyclicLR(opt, [0.1, 0.2], 0.2))
attempt(lambda: S.OneCycleLR(opt, 0.1))
attempt(lambda: S.OneCycleLR(opt, 0.1, 0))
attempt(lambda: S.OneCycleLR(opt, 0.1, 10, pct_start=2))
attempt(lambda: S.OneCycleLR(opt, 0.1, 10, anneal_strategy="x"))
attempt(lambda: S.CosineAnnealingWarmRestarts(opt, 0))
attempt(lambda: S.ReduceLROnPlateau(opt, factor=1.0))
attempt(lambda: S.ReduceLROnPlateau(opt, mode="x"))
attempt(lambda: S.SequentialLR(opt, [], []))
attempt(lambda: S.SequentialLR(opt, [schedule], [1]))
attempt(lambda: S.ChainedScheduler([plateau]))
attempt(lambda: S.StepLR(optim.SGD([a], lr=0.1), 2, last_epoch=3))
