# ---- a decorated class
# library only
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")

    @torch.no_grad()
    class Made:
        def __init__(self):
            self.tracked = torch.is_grad_enabled()

        def later(self):
            return torch.is_grad_enabled()


print([(w.category.__name__, str(w.message)) for w in caught])
print(Made().tracked, Made().later())

# ---- hooks that a pass inside a hook's own context leaves behind
# library only
x = torch.tensor([0.3, 0.7], requires_grad=True)


def enter_again(kept):
    hooks.__enter__()
    return kept


hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, enter_again)
with hooks:
    x.sin().sum().backward()
print(x.grad)
y = x.exp()
y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t / 2)
y.sum().backward()
print(x.grad)


# ---- saved_variables, and saved tensors that are read once
# library only
import warnings


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_variables
        return g * x


class Once(Old):
    clear_saved_tensors_on_access = True

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


class Twice(Once):
    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * ctx.saved_tensors[0]


x = torch.tensor([2.0, 3.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    Old.apply(x).sum().backward()
print(x.grad, [(w.category.__name__, str(w.message)) for w in caught])
show(lambda: torch.autograd.grad(Once.apply(x).sum(), x), lambda: Twice.apply(x).sum().backward())


# ---- the saved tensors of a custom Function
# library only
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, save):
        if save:
            ctx.save_for_backward(x, None)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] if ctx.saved_tensors else g, None


x = torch.tensor([2.0, 3.0], requires_grad=True)
y = Keep.apply(x, True)
kept = y.grad_fn._raw_saved_tensors
print(y.grad_fn.saved_tensors[0] is x, y.grad_fn.saved_tensors[1], [type(k).__name__ for k in kept])
show(
    lambda: kept[1].register_hooks(lambda t: t, lambda t: t),
    lambda: kept[0].register_hooks(lambda t: t),
    lambda: kept[0].register_hooks(lambda t: t * 4, lambda t: t / 2),
    lambda: kept[0].register_hooks(lambda t: t, lambda t: t),
)
y.sum().backward()
print(x.grad)
show(lambda: y.grad_fn._raw_saved_tensors, lambda: y.grad_fn.saved_tensors)
print(Keep.apply(x, False).grad_fn.saved_tensors, Keep.apply(x, False).grad_fn._raw_saved_tensors)


# ---- data and hooks of a saved tensor
# library only
def pack(t):
    return t


a = torch.tensor(2.0, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, pack):
    b = a**2
c = b.exp()
d = c**2
first, result, second = b.grad_fn._raw_saved_self, c.grad_fn._raw_saved_result, d.grad_fn._raw_saved_self
print(first.data is a, first.unpack_hook is pack, result.data is c, result.unpack_hook, second.data is c)
e = torch.rand(2, requires_grad=True).exp()
seen = e.grad_fn._saved_result
with torch.no_grad():
    e += 1
print(torch.equal(e, seen), e._version == seen._version)

# ---- what a node expects of gradients
# library only
x = torch.ones(3, 3, requires_grad=True)
for node in ((x * x).grad_fn, torch.var_mean(x, dim=0)[0].grad_fn, x.sum().grad_fn):
    print(node.name(), [(tuple(m.shape), m.dtype, m.device, m.is_nested_tensor) for m in node._input_metadata])

# ---- notes on a node
# library only
y = torch.ones(2, requires_grad=True).exp()
y.grad_fn.metadata["mine"] = 3
print(y.grad_fn.metadata)


# ---- the dtype of a gradient
# library only
class Wide(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.to(torch.float64)


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


for dtype in (torch.float32, None, torch.float16):
    x = leaf()
    x.grad_dtype = dtype
    Wide.apply(x).sum().backward()
    print(x.grad_dtype, x.grad)
x = leaf()
y = x.clone()
x.grad_dtype = torch.float16
z = leaf()
z.grad = torch.ones(2)
show(
    lambda: leaf().grad_dtype,
    lambda: y.grad_dtype,
    lambda: setattr(y, "grad_dtype", None),
    lambda: setattr(x, "grad", torch.ones(2)),
    lambda: setattr(x, "grad_dtype", 1),
    lambda: setattr(z, "grad_dtype", torch.float16),
)
y.sum().backward()
print(x.grad)

# ---- what cannot be deleted or set, and the old attributes
# library only
import warnings

x = torch.ones(2, requires_grad=True)
for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
    show(lambda name=name: delattr(x, name))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x.volatile = True
    print(x.volatile)
print([str(w.message) for w in caught])
x._backward_hooks = {"double": lambda g: g * 2}
(x * 3).sum().backward()
print(x.grad, x.new(2, 3).shape, x.new([1.5]), x.double().new(torch.Size([])).dtype)

# ---- set_ on a leaf whose old values a graph holds
# library only
x = torch.ones(2, requires_grad=True)
edge = torch.autograd.graph.get_gradient_edge(x)
out = (x * 2).sum()
with torch.no_grad():
    x.set_(torch.zeros(2))
show(lambda: torch.autograd.grad(out, x, retain_graph=True), lambda: torch.autograd.grad(out, edge))


# ---- hooks see a gradient that is undefined
# library only
class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda g: print("y", g))
Nothing.apply(y).sum().backward()
print(x.grad)
parts = torch.arange(3.0, requires_grad=True).unbind()
parts[0].register_hook(lambda g: print("part", g))
parts[0].backward(retain_graph=True)
parts[1].backward()
z = x * 2
z.register_hook(lambda g: torch.ones(2))
show(lambda: Nothing.apply(z).sum().backward())

# ---- anomaly mode: the stack of the forward call
# library only
import warnings


class Nan(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


def lines(caught):
    for w in caught:
        kept = [line.split(".")[0] for line in str(w.message).strip().split("\n")]
        print(kept[0], "|", any("forward call" in str(w.message) for _ in kept))


x = torch.ones(2, requires_grad=True)
outside = Nan.apply(x)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autograd.detect_anomaly():
        show(lambda: outside.sum().backward())
        inside = Nan.apply(x)
        show(lambda: inside.sum().backward())
        y = x + 1
        z = y**2
        y += 1
        show(lambda: z.sum().backward())
lines(caught)
with torch.autograd.detect_anomaly(check_nan=False):
    Nan.apply(x).sum().backward()
print(x.grad)

# ---- anomaly mode: a node that backward made
# library only
import warnings


class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return Inner.apply(g * x)


x = torch.ones(2, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autograd.detect_anomaly():
        (g,) = torch.autograd.grad(Outer.apply(x), x, create_graph=True)
        show(lambda: g.sum().backward())
print([str(w.message).strip().split(". ")[0] for w in caught])


# ---- backward inside backward, deeper than Python's stack
class Deep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_() - 1
        return ctx.x.detach()

    @staticmethod
    def backward(ctx, g):
        if ctx.x < 0:
            return g
        with torch.enable_grad():
            Deep.apply(ctx.x).sum().backward()
        return g


x = torch.tensor(150.0, requires_grad=True)
Deep.apply(x).sum().backward()
print(x.grad)

# ---- set_multithreading_enabled, set_warn_always, is_inference
# library only
with torch.autograd.set_multithreading_enabled(False):
    print(torch.autograd.is_multithreading_enabled())
print(torch.autograd.is_multithreading_enabled(), torch.is_inference(torch.ones(1)))
with torch.inference_mode():
    print(torch.is_inference(torch.ones(1)))
before = torch.is_warn_always_enabled()
torch.set_warn_always(True)
print(torch.is_warn_always_enabled())
torch.set_warn_always(before)
decorated = torch.inference_mode(mode=lambda x: torch.is_inference_mode_enabled())
print(decorated(1))

# ---- isinstance of nodes
# library only
Node = torch.autograd.graph.Node
x = torch.ones(2, requires_grad=True)
y = x.exp()
leaf = y.grad_fn.next_functions[0][0]
print(isinstance(y.grad_fn, Node), Node in type(y.grad_fn).mro(), isinstance(leaf, Node), issubclass(type(leaf), Node))
print(isinstance(None, Node), isinstance(Node, Node), issubclass(Node, Node), isinstance(x, Node))
print(issubclass(torch.autograd.function.BackwardCFunction, Node))

# ---- unique_consecutive requires grad and has no derivative
x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True)
values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
print(values, inverse, counts)
show(lambda: values.sum().backward())

# ---- mark_dirty of what is not an input
# library only
import warnings


class Marks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, view):
        out = x.clone().view_as(x) if view else 3 * x
        ctx.mark_dirty(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return g * 3, None


for requires_grad in (True, False):
    x = torch.ones(2, requires_grad=requires_grad).clone()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        show(lambda: Marks.apply(x, False), lambda: Marks.apply(x, True))
    print([str(w.message).split(" (Triggered")[0] for w in caught])


# ---- a custom Function that is a pure view
# library only
class Head(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, pure):
        ctx._is_pure_view = pure
        return x.narrow(0, 0, 1)

    @staticmethod
    def backward(ctx, g):
        print("called")
        return torch.cat([g, torch.zeros(1)]), None


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx._is_pure_view = True
        return x.narrow(0, 0, 1)


x = torch.ones(2, requires_grad=True)
for pure in (True, False):
    a = x.clone()
    b = Head.apply(a, pure)
    print(b._is_view(), type(b.grad_fn).__name__)
    show(lambda: b.mul_(3), lambda: torch.autograd.grad(a.sum(), x))
show(lambda: Two.apply(x, x))

# ---- allow_mutation_on_saved_tensors: copies are made of what changes alone
# library only
allow = torch.autograd.graph.allow_mutation_on_saved_tensors
with allow() as context:
    a = torch.tensor([1.0, 2.0], requires_grad=True).clone()
    out = (a**2).sum()
    print(len(context.tid_to_weakhandle), len(context.cloned))
    out.backward()
    a.sin_()
    print(len(context.cloned))
    b = a**2
    a.sin_()
    c = a**2
    a.sin_()
    print(len(context.cloned))
    del b
    print(len(context.cloned))
    del c
    print(len(context.cloned))
with allow():
    out = (torch.ones(2, requires_grad=True) ** 2).sum()
show(lambda: out.backward())


def again():
    with allow(), allow():
        pass


show(again)

# ---- resize_ that changes nothing
x = torch.ones(1)
x.resize_((1, 2))
x.resize_((1, 2))
print(x._version, x.shape)

# ---- gradcheck: undefined gradients
# library only
import warnings



def refuses(x):
    y = x.clone()

    def hook(g):
        if g is None:
            raise RuntimeError("no gradient")

    y.register_hook(hook)
    return y




x = torch.tensor([0.5, 0.7], dtype=torch.float64, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    show(lambda: torch.autograd.gradcheck(refuses, (x,)))
    print(torch.autograd.gradcheck(refuses, (x,), raise_exception=False))
print({str(w.message).split(",")[0] for w in caught})

# ---- pickled tensors
# library only
import pickle

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
for protocol in (0, 2, 4):
    print(pickle.loads(pickle.dumps([x, x.detach()], protocol=protocol)))

# ---- scatter_reduce and index_reduce by prod with several zeros
start = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
index = torch.tensor([0, 0])
for function in (torch.scatter_reduce, torch.index_reduce):
    for values in ([0.0, 2.0], [0.0, 0.0]):
        src = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        first = torch.autograd.grad(function(start, 0, index, src, "prod").sum(), (start, src), create_graph=True)
        print([g.detach() for g in first])
        show(lambda: torch.autograd.grad(first[0].sum() + first[1].sum(), (start, src)))

# ---- indices that select nothing, do not fit or are slices of a number
x = torch.arange(24.0).reshape(4, 6)
x[False] = torch.ones(7)
print(x.sum())


def write():
    x[torch.tensor([0, 2]), torch.tensor([0, 1, 2])] = -1


show(
    write,
    lambda: torch.tensor(3)[1:],
    lambda: torch.zeros(0, 4).expand(3, 4, 6),
    lambda: torch.tensor(3.0).tensor_split(3),
    lambda: torch.tensor(3.0).chunk(0),
    lambda: torch.Tensor(torch.Size([2, 0])),
)

# ---- pooling with kernels below zero
x = torch.arange(16.0).reshape(1, 1, 4, 4)
show(
    lambda: F.max_pool2d(x, -1),
    lambda: F.avg_pool2d(x, -1),
    lambda: F.avg_pool1d(x[0], -1),
    lambda: F.max_pool3d(x[None], -1),
    lambda: F.max_pool2d(x, 2, padding=2),
)

# ---- a module's backward hook that returns a tensor, and the private hook before a load
# library only
net = nn.Linear(2, 2, bias=False)
with torch.no_grad():
    net.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
net.register_full_backward_hook(lambda module, inputs, outputs: inputs[0])
show(lambda: net(torch.ones(2, 2, requires_grad=True)).sum().backward())
net._register_load_state_dict_pre_hook(lambda state, prefix, *rest: print(list(state), len(rest)))
net._register_load_state_dict_pre_hook(lambda module, state, *rest: print(type(module).__name__), with_module=True)
net.load_state_dict(net.state_dict())

# ---- DataParallel on a machine without GPUs
net = nn.DataParallel(nn.Sequential(nn.Linear(2, 1)))
print(net, list(net.state_dict()), net.device_ids)
x = torch.ones(3, 2)
print(torch.equal(net(x), net.module(x)))
