"""torch.utils.checkpoint, and the state of random numbers."""
import torch
import warnings
from torch.utils.checkpoint import checkpoint
from torch.utils.checkpoint import checkpoint_sequential


def case_0():
    def f(x, w):
        return (x * w).exp().sin() * w
    for re in (True, False):
        x = torch.tensor([0.1, 0.2], requires_grad=True); w = torch.tensor(2., requires_grad=True)
        y = checkpoint(f, x, w, use_reentrant=re)
        y.sum().backward()
        print(y.detach(), x.grad, w.grad)


def case_1():
    x = torch.tensor([0.1, 0.2], requires_grad=True)
    y = checkpoint(lambda x: x.exp() * x, x, use_reentrant=False)
    print(torch.autograd.grad(y.sum(), x))


def case_2():
    x = torch.tensor([0.1, 0.2], requires_grad=True)
    y = checkpoint(lambda x: x.exp() * x, x, use_reentrant=False)
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    print(g)
    print(torch.autograd.grad(g.sum(), x))


def case_3():
    x = torch.tensor([0.1, 0.2], requires_grad=True)
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        checkpoint(torch.sin, x)
        checkpoint(torch.sin, x.detach(), use_reentrant=True)
        print([str(e.message) for e in w])


def case_4():
    checkpoint(torch.sin, torch.ones(2, requires_grad=True), use_reentrant=True, foo=1)


def case_5():
    m = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2), torch.nn.Tanh())
    with torch.no_grad():
        for p in m.parameters(): p.fill_(0.1)
    x = torch.ones(2, 3, requires_grad=True)
    for re in (True, False):
        m.zero_grad(); x.grad = None
        out = checkpoint_sequential(m, 2, x, use_reentrant=re)
        out.sum().backward()
        print(x.grad, [p.grad for p in m.parameters()])


def case_6():
    d = torch.nn.Dropout(0.5)
    x = torch.ones(1000, requires_grad=True)
    y = checkpoint(lambda x: d(x) * x, x, use_reentrant=False)
    y.sum().backward()
    print(torch.equal((y.detach() != 0).float() * 4, x.grad))
    x = torch.ones(1000, requires_grad=True)
    y = checkpoint(lambda x: d(x) * x, x, use_reentrant=True)
    y.sum().backward()
    print(torch.equal((y.detach() != 0).float() * 4, x.grad))


def case_7():
    g = torch.Generator(); g.manual_seed(3)
    s = g.get_state()
    a = torch.rand(3, generator=g)
    g.set_state(s)
    print(torch.equal(a, torch.rand(3, generator=g)), s.dtype, g.initial_seed())
    s = torch.get_rng_state(); a = torch.randn(3); torch.set_rng_state(s); print(torch.equal(a, torch.randn(3)))
    torch.set_rng_state(torch.zeros(3))


for case in (case_0, case_1, case_2, case_3, case_4, case_5, case_6, case_7):
    print(case.__name__)
    try:
        case()
    except Exception as error:
        print(type(error).__name__, error)
