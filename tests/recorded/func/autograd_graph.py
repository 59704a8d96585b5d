"""torch.autograd.graph: hooks on saved tensors, on several gradients, edges."""
import torch


def case_0():
    a = torch.tensor([1., 2.], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach() * 2, lambda x: x):
        y = a * a
    y.sum().backward()
    print(a.grad)


def case_1():
    class Sq(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y, None)
            return y
        @staticmethod
        def backward(ctx, g):
            x, y, n = ctx.saved_tensors
            print(x, y, n)
            return 2 * x * g
    a = torch.tensor([1., 2.], requires_grad=True)
    def p(x):
        print('pack', x); return x.detach()
    def u(x):
        print('unpack', x); return x
    with torch.autograd.graph.saved_tensors_hooks(p, u):
        y = Sq.apply(a)
    y.sum().backward()
    print(a.grad)


def case_2():
    a = torch.tensor([1., 2.], requires_grad=True)
    def p(x):
        x += 1
        return x
    with torch.autograd.graph.saved_tensors_hooks(p, lambda x: x):
        y = a.detach() * a


def case_3():
    a = torch.tensor([1., 2.], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: 5, lambda x: x):
        y = a.sin()
    y.sum().backward()


def case_4():
    a = torch.tensor([1., 2.], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), lambda x: x):
        y = a ** 3
        b = a.exp() * a
    g, = torch.autograd.grad(y.sum(), a, create_graph=True)
    print(g)
    print(torch.autograd.grad(g.sum(), a))
    g, = torch.autograd.grad(b.sum(), a, create_graph=True)
    print(g)
    print(torch.autograd.grad(g.sum(), a))


def case_5():
    a = torch.tensor([1., 2.], requires_grad=True)
    y = a.exp()
    print(type(y.grad_fn._raw_saved_result).__name__)
    y.grad_fn._raw_saved_result.register_hooks(lambda x: x.detach() * 10, lambda x: x)
    print(y.grad_fn._saved_result)
    y.sum().backward()
    print(a.grad)


def case_6():
    a = torch.tensor([1., 2.], requires_grad=True)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: x.detach() * 10, lambda x: x)
    y.grad_fn._raw_saved_self.register_hooks(lambda x: x.detach() * 10, lambda x: x)


def case_7():
    a = torch.tensor([1., 2.], requires_grad=True)
    y = a * 2
    y.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x)


def case_8():
    a = torch.tensor([1., 2.], requires_grad=True)
    y = a * 2
    y.grad_fn._raw_saved_other.register_hooks(lambda x: x, lambda x: x)


def case_9():
    a = torch.tensor([1., 2.], requires_grad=True)
    y = a * a
    y.sum().backward()
    y.grad_fn._raw_saved_other.register_hooks(lambda x: x, lambda x: x)


def case_10():
    a = torch.tensor([1., 2.], requires_grad=True)
    y = a * a
    y.grad_fn._raw_saved_foo


def case_11():
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        try:
            with torch.autograd.graph.save_on_cpu():
                pass
        except RuntimeError as e:
            print(e)
    with torch.autograd.graph.save_on_cpu():
        print(1)


def case_12():
    a = torch.rand(2, 3, requires_grad=True)
    b = torch.rand(2, 3, requires_grad=True)
    c = a * b
    d = a * b
    def fn(grads):
        print([g is not None for g in grads])
    h = torch.autograd.graph.register_multi_grad_hook((a, b, c, d), fn)
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    torch.autograd.grad(c.sum(), c, retain_graph=True)
    h.remove()
    c.sum().backward(retain_graph=True)
    print('any')
    h = torch.autograd.graph.register_multi_grad_hook((a, b, c), lambda g: print(g), mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(retain_graph=True)


def case_13():
    a = torch.rand(2, 3, requires_grad=True)
    h = torch.autograd.graph.register_multi_grad_hook((a,), print)
    torch.autograd.grad((a * 2).sum(), a)


def case_14():
    torch.autograd.graph.register_multi_grad_hook((), print, mode="x")


def case_15():
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
        print(a.grad, b)


def case_16():
    a = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        out = (b**2).sum()
    out.backward()


def case_17():
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            pass


def case_18():
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    e = torch.autograd.graph.get_gradient_edge(y)
    print(e.node.name(), e.output_nr)
    print(torch.autograd.grad((y * y).sum(), e))
    e = torch.autograd.graph.get_gradient_edge(x)
    print(e.node.name(), isinstance(y.grad_fn, torch.autograd.graph.Node))
    print(torch.autograd.grad((y * y).sum(), e))
    torch.autograd.graph.get_gradient_edge(x.detach())


def case_19():
    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    z = y * y
    torch.autograd.graph.increment_version(y)
    print(y._version)
    z.sum().backward()


def case_20():
    m = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    with torch.no_grad():
        for p in m.parameters(): p.fill_(0.1)
    n = []
    def pack(x):
        n.append(tuple(x.shape)); return x.detach().clone()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        loss = torch.nn.functional.mse_loss(m(torch.ones(2, 3)), torch.zeros(2, 1))
    print(n)
    loss.backward()
    print([p.grad for p in m.parameters()])


def case_21():
    x = torch.randn(5, requires_grad=True)
    storage = {}
    def pack_hook(t):
        key = len(storage); storage[key] = t.detach().clone()
        return key
    def unpack_hook(k):
        return storage.pop(k)
    with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
        y = (x * x).exp().log().sum()
    print(len(storage))
    y.backward()
    print(len(storage), torch.allclose(x.grad, 2 * x))


def case_22():
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 1/0, lambda t: t):
        x.sin()


for case in (case_0, case_1, case_2, case_3, case_4, case_5, case_6, case_7, case_8, case_9, case_10, case_11, case_12, case_13, case_14, case_15, case_16, case_17, case_18, case_19, case_20, case_21, case_22):
    print(case.__name__)
    try:
        case()
    except Exception as error:
        print(type(error).__name__, error)
