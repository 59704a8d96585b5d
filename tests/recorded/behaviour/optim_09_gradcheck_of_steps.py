"""Gradcheck of a differentiable step of every optimiser, in parameter, gradient and state (after PyTorch's tests)."""

import torch
from torch.autograd import gradcheck, gradgradcheck


def after_step(p, grad, state, kind, options, *ignored):
    p = p.clone()
    p.grad = grad
    opt = kind([p], **options)
    opt.state[p].update({k: v.clone() for k, v in state.items()})
    opt.step()
    return (p, *(v for v in opt.state[p].values() if isinstance(v, torch.Tensor) and v.requires_grad))


def drawn(*size):
    return torch.rand(*size, dtype=torch.float64, requires_grad=True)


def fixed(value):
    return torch.tensor(value, dtype=torch.float64)


torch.manual_seed(0)
ten = fixed(10.0)
O = torch.optim
CASES = [
    (O.SGD, dict(), dict(momentum_buffer=drawn(4))),
    (O.SGD, dict(momentum=0.9, nesterov=True, weight_decay=0.1), dict(momentum_buffer=drawn(4))),
    (O.SGD, dict(momentum=0.9, dampening=0.5, maximize=True), dict(momentum_buffer=drawn(4))),
    (O.Adam, dict(amsgrad=True), dict(step=ten, exp_avg=drawn(4), exp_avg_sq=drawn(4), max_exp_avg_sq=drawn(4))),
    (O.Adam, dict(weight_decay=0.1), dict(step=ten, exp_avg=drawn(4), exp_avg_sq=drawn(4))),
    (O.AdamW, dict(amsgrad=True), dict(step=ten, exp_avg=drawn(4), exp_avg_sq=drawn(4), max_exp_avg_sq=drawn(4))),
    (
        O.RMSprop,
        dict(maximize=True, momentum=0.9, centered=True, weight_decay=0.1),
        dict(
            step=fixed(0.0),
            square_avg=drawn(4),
            momentum_buffer=drawn(4),
            grad_avg=(drawn(4).detach() * 0.01).requires_grad_(),
        ),
    ),
    (O.RMSprop, dict(), dict(step=fixed(0.0), square_avg=drawn(4))),
    (O.Adadelta, dict(weight_decay=0.1), dict(step=ten, square_avg=drawn(4), acc_delta=drawn(4))),
    (O.Adagrad, dict(weight_decay=0.1), dict(step=ten, sum=drawn(4))),
    (O.Adamax, dict(weight_decay=0.1), dict(step=ten, exp_avg=drawn(4), exp_inf=drawn(4))),
    (O.ASGD, dict(), dict(step=ten, eta=fixed(0.9), mu=fixed(1.0), ax=drawn(4))),
    (O.ASGD, dict(weight_decay=0.1), dict(step=ten, eta=fixed(0.9), mu=fixed(1.0), ax=drawn(4))),
    (O.Rprop, dict(), dict(step=ten, prev=drawn(4), step_size=drawn(4))),
    (O.NAdam, dict(), dict(step=ten, exp_avg=drawn(4), exp_avg_sq=drawn(4), mu_product=fixed(1.0).requires_grad_())),
    (
        O.NAdam,
        dict(decoupled_weight_decay=True, weight_decay=0.1),
        dict(step=ten, exp_avg=drawn(4), exp_avg_sq=drawn(4), mu_product=fixed(1.0).requires_grad_()),
    ),
    (O.RAdam, dict(), dict(step=ten, exp_avg=drawn(4), exp_avg_sq=drawn(4))),
    (
        O.RAdam,
        dict(weight_decay=0.1, decoupled_weight_decay=True),
        dict(step=ten, exp_avg=drawn(4), exp_avg_sq=drawn(4)),
    ),
]
for kind, options, state in CASES:
    options = dict(options, lr=0.9, differentiable=True)
    p, grad = drawn(4), drawn(4)
    inputs = (p, grad, state, kind, options, *state.values())
    out = after_step(*inputs)
    print(kind.__name__, [round(o.detach().sum().item(), 6) for o in out], [o.requires_grad for o in out])
    print(
        gradcheck(after_step, inputs),
        kind in (O.Rprop, O.NAdam) or gradgradcheck(lambda p, g: after_step(p, g, state, kind, options)[0], (p, grad)),
    )
