# ---- checkpoint_sequential and modules
# library only
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
with torch.no_grad():
    for p in model.parameters():
        p.fill_(0.5)
x = torch.ones(1, 2, requires_grad=True)
y = torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
y.sum().backward()
print([p.grad.flatten().tolist() for p in model.parameters()] == [p.grad.flatten().tolist() for p in model.parameters()], x.grad)
show(lambda: torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False, foo=1))

# ---- GradientEdge as input and output
get = torch.autograd.graph.get_gradient_edge
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
z = y.exp()
e = get(y)
print(e.node.name(), e.output_nr, get(x).node.name(), type(e).__name__)
print(torch.autograd.grad(z.sum(), e, retain_graph=True))
print(torch.autograd.grad([get(z)], [x], [torch.ones(2)], retain_graph=True))
print(torch.autograd.grad(get(z), get(x), torch.ones(2), retain_graph=True))
show(
    lambda: torch.autograd.grad(get(z), x),
    lambda: torch.autograd.grad(z.sum(), get(torch.ones(1)), retain_graph=True),
    lambda: get(torch.ones(1)),
    lambda: get(x.detach()),
    lambda: torch.autograd.backward(get(z), torch.ones(2), retain_graph=True),
    lambda: x.grad,
    lambda: torch.autograd.grad(z.sum(), e, retain_graph=True, allow_unused=True, materialize_grads=True),
    lambda: torch.autograd.grad(x.sum() * 1, e, retain_graph=True, allow_unused=True),
    lambda: torch.autograd.grad(x.sum() * 1, e, retain_graph=True, allow_unused=True, materialize_grads=True),
    lambda: torch.autograd.grad(x.sum() * 1, e, retain_graph=True),
    lambda: torch.autograd.backward(z.sum(), inputs=[e]),
    lambda: torch.autograd.backward(z.sum(), inputs=get(x)),
)
a, b = torch.ones(2, requires_grad=True).unbind(0)
print(get(b).output_nr, get(a).node is get(b).node)

# ---- is_grads_batched
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
show(
    lambda: torch.autograd.grad(y, x, v, is_grads_batched=True, retain_graph=True),
    lambda: torch.autograd.grad([y, y.sum()], x, [v, torch.ones(3)], is_grads_batched=True, retain_graph=True),
    lambda: torch.autograd.grad(y, x, torch.ones(3), is_grads_batched=True, retain_graph=True),
    lambda: torch.autograd.grad(y, x, torch.ones(2, 3), is_grads_batched=True, retain_graph=True),
    lambda: torch.autograd.grad([y, y], x, [v, v[:2]], is_grads_batched=True, retain_graph=True),
    lambda: torch.autograd.grad(y, x, is_grads_batched=True, retain_graph=True),
    lambda: torch.autograd.grad(y, x, torch.tensor(1.0), is_grads_batched=True, retain_graph=True),
)

# ---- errors of grad and backward
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
w = torch.ones(2, requires_grad=True)
show(
    lambda: torch.autograd.grad(y, x),
    lambda: torch.autograd.grad(y.sum(), w),
    lambda: torch.autograd.grad(y.sum(), [x, w]),
    lambda: torch.autograd.grad(y.sum(), [x, w], allow_unused=False, materialize_grads=True),
    lambda: torch.autograd.grad((x * x).sum(), [x, w], materialize_grads=True),
    lambda: torch.autograd.grad((x * x).sum(), []),
    lambda: torch.autograd.grad([], [x]),
    lambda: torch.autograd.grad((x * x).sum(), torch.ones(2)),
    lambda: torch.autograd.grad(torch.ones(1), x),
    lambda: torch.autograd.grad((x * x).sum(), x, torch.ones(2)),
    lambda: torch.autograd.grad(x * x, x, [torch.ones(2), torch.ones(2)]),
    lambda: torch.autograd.grad(x * x, x, torch.ones(2, dtype=torch.int64)),
    lambda: torch.autograd.grad(x * x, x, 3.0),
    lambda: torch.autograd.backward((x * x).sum(), inputs=[]),
    lambda: torch.autograd.backward((x * x).sum(), inputs=(x,), grad_tensors=[None]),
    lambda: (x * x).sum().backward(inputs=[torch.ones(1)]),
    lambda: torch.autograd.backward(x * x, [None]),
    lambda: torch.autograd.backward([]),
    lambda: torch.ones(1).backward(),
    lambda: torch.autograd.grad((x * x).sum(), x, only_inputs=False),
    lambda: torch.autograd.backward((x * x).sum(), torch.ones(()), grad_variables=torch.ones(())),
)

# ---- the results of materialize_grads
x = torch.ones(2, requires_grad=True)
w = torch.ones(3, requires_grad=True)
gx, gw = torch.autograd.grad((x * 2).sum(), [x, w], allow_unused=True, materialize_grads=True, create_graph=True)
print(gx, gw, gx.requires_grad, gw.requires_grad)
print(torch.autograd.grad((x * 2).sum(), [x, w], allow_unused=True))

# ---- grad_fn called with arguments
# library only
x = torch.ones(2, requires_grad=True)
y = x * 2
z = x.sum()
show(
    lambda: y.grad_fn(torch.ones(2)),
    lambda: y.grad_fn(),
    lambda: y.grad_fn(torch.ones(2), torch.ones(2)),
    lambda: y.grad_fn(3.0),
    lambda: z.grad_fn(torch.ones(())),
    lambda: x.unbind(0)[0].grad_fn(torch.tensor(1.0), None),
    lambda: x.unbind(0)[0].grad_fn(torch.tensor(1.0)),
    lambda: y.grad_fn(None),
    lambda: y.grad_fn(a=torch.ones(2)),
)

# ---- hooks of nodes
log = []
x = torch.ones(2, requires_grad=True)
y = x * 2
h = y.grad_fn.register_hook(lambda gi, go: log.append(([g if g is None else g.tolist() for g in gi], [g.tolist() for g in go])))
p = y.grad_fn.register_prehook(lambda go: log.append(("pre", [g.tolist() for g in go])))
y.sum().backward(retain_graph=True)
print(log)
h.remove()
p.remove()
log.clear()
y.sum().backward()
print(log)
y = x * 2
y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
y.grad_fn.register_hook(lambda gi, go: (gi[0] + 1, None))
print(torch.autograd.grad(y.sum(), x))
y = x * 2
y.grad_fn.register_prehook(lambda go: (go[0], go[0]))
show(lambda: torch.autograd.grad(y.sum(), x))
y = x * 2
y.grad_fn.register_hook(lambda gi, go: (gi[0],))
show(lambda: torch.autograd.grad(y.sum(), x))
y = x * 2
y.grad_fn.register_hook(lambda gi, go: (3, None))
show(lambda: torch.autograd.grad(y.sum(), x))
y = x * 2
y.grad_fn.register_hook(lambda gi, go: (gi[0].double(), None))
show(lambda: torch.autograd.grad(y.sum(), x))
y = x * 2
y.grad_fn.register_hook(lambda gi, go: (torch.ones(3), None))
show(lambda: torch.autograd.grad(y.sum(), x))

# ---- hooks of tensors: what they return
x = torch.ones(2, requires_grad=True)
for result in (lambda g: None, lambda g: g * 3, lambda g: 3, lambda g: g.sum(), lambda g: g.double(), lambda g: "a", lambda g: torch.ones(3)):
    y = x * 2
    y.register_hook(result)
    show(lambda: torch.autograd.grad(y.sum(), x))
show(lambda: torch.ones(2).register_hook(lambda g: g), lambda: x.register_hook(3))
h = x.register_hook(lambda g: g * 10)
with h:
    print(torch.autograd.grad((x * 2).sum(), x))
print(torch.autograd.grad((x * 2).sum(), x))

# ---- post-accumulate hooks
log = []
x = torch.ones(2, requires_grad=True)
h = x.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist()))
(x * 2).sum().backward()
(x * 2).sum().backward()
print(log)
torch.autograd.grad((x * 2).sum(), x)
print(log)
h.remove()
(x * 2).sum().backward()
print(log, x.grad)
h = x.register_post_accumulate_grad_hook(lambda p: p.grad)
show(lambda: (x * 2).sum().backward())
h.remove()
h = x.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
show(lambda: (x * 2).sum().backward(), lambda: x.grad)
show(lambda: (x * 2).register_post_accumulate_grad_hook(print), lambda: torch.ones(1).register_post_accumulate_grad_hook(print))

# ---- the order of all hooks
log = []
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda g: log.append("tensor 1"))
x.register_hook(lambda g: log.append("tensor 2"))
y = x * 2
acc = y.grad_fn.next_functions[0][0]
acc.register_prehook(lambda go: log.append("acc pre"))
acc.register_hook(lambda gi, go: log.append("acc post"))
x.register_post_accumulate_grad_hook(lambda p: log.append("after"))
y.register_hook(lambda g: log.append("y"))
y.retain_grad()
y.grad_fn.register_prehook(lambda go: log.append("y pre"))
y.grad_fn.register_hook(lambda gi, go: log.append("y post"))
y.sum().backward()
print(log, y.grad)

# ---- queue_callback
# library only
log = []


def hook(g):
    torch.autograd.Variable._execution_engine.queue_callback(lambda: log.append("callback"))
    log.append("hook")
    return g


x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(hook)
x.register_hook(lambda g: log.append("leaf"))
y.sum().backward()
print(log)
show(lambda: torch.autograd.Variable._execution_engine.queue_callback(lambda: 1))

# ---- saved tensors of nodes
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
print(y.grad_fn._saved_self is x, y.grad_fn._saved_other.requires_grad, y.grad_fn._saved_self)
z = x.exp()
print(z.grad_fn._saved_result, z.grad_fn._saved_result is z, z.grad_fn._saved_result.grad_fn is z.grad_fn)
s = x.sum(0, keepdim=True)
print(s.grad_fn._saved_dim, s.grad_fn._saved_keepdim)
y.sum().backward()
show(lambda: y.grad_fn._saved_self, lambda: y.grad_fn._saved_nothing)
c = x * 1
d = c * c
c.add_(1)
show(lambda: d.sum().backward(), lambda: d.grad_fn._saved_self)

# ---- SavedTensor and its hooks
# library only
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
raw = y.grad_fn._raw_saved_self
print(type(raw).__name__, isinstance(raw, torch.autograd.SavedTensor))
raw.register_hooks(lambda t: t * 10, lambda t: t / 5)
print(torch.autograd.grad(y.sum(), x, retain_graph=True))
show(
    lambda: raw.register_hooks(lambda t: t, lambda t: t),
    lambda: y.grad_fn._raw_saved_other.register_hooks(lambda: 1, lambda t: t),
    lambda: (x * x).grad_fn._raw_saved_other.register_hooks(3, lambda t: t),
    lambda: torch.autograd.SavedTensor(),
)
y = x * x
y.grad_fn._raw_saved_self.register_hooks(lambda t: 3, lambda t: t)
show(lambda: y.sum().backward())
y = x * x
y.sum().backward()
show(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t))
show(lambda: x.sum().grad_fn._raw_saved_self)

# ---- saved_tensors_hooks
log = []
x = torch.tensor([1.0, 2.0], requires_grad=True)


def pack(t):
    log.append(("pack", t.tolist()))
    return t * 2


def unpack(t):
    log.append(("unpack", t.tolist()))
    return t / 2


with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x * x
    z = y.exp()
print(torch.autograd.grad(z.sum(), x), log)
with torch.autograd.graph.saved_tensors_hooks(lambda t: None, lambda t: 3):
    y = x * x
show(lambda: y.sum().backward())
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
    show(lambda: (x * 1).exp() * (x * 1))
with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    def enter():
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return x * x
    show(enter)
with torch.autograd.graph.save_on_cpu():
    y = x * x
print(torch.autograd.grad(y.sum(), x))

# ---- allow_mutation_on_saved_tensors
# library only
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
    a = x.clone()
    y = a.sin()
    a.add_(10)
    y.sum().backward()
print(x.grad)
show(lambda: (a * 1).sum().backward())
x.grad = None
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    a = x.clone()
    y = a * a
    z = a[0] * 3
    a[0] = 100.0
out = lambda: y.sum().backward()
show(out)


def nested():
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            return 1


show(nested)

# ---- the version counter and identity of what is saved
# library only
x = torch.ones(2, requires_grad=True)
a = x * 1
b = a.sin()
v = a._version
a.mul_(2)
print(v, a._version)
show(lambda: b.sum().backward())
with torch.autograd._unsafe_preserve_version_counter(a):
    with torch.no_grad():
        a.mul_(2)
print(a._version)

# ---- global module hooks
# library only
log = []
register = torch.nn.modules.module
handles = [
    register.register_module_forward_pre_hook(lambda m, i: log.append(("pre", type(m).__name__))),
    register.register_module_forward_hook(lambda m, i, o: log.append(("forward", type(m).__name__))),
    register.register_module_full_backward_pre_hook(lambda m, g: log.append(("backward pre", type(m).__name__))),
    register.register_module_full_backward_hook(lambda m, gi, go: log.append(("backward", type(m).__name__))),
]
model = nn.Sequential(nn.Linear(1, 1), nn.Tanh())
x = torch.ones(1, 1, requires_grad=True)
model(x).sum().backward()
print(log)
log.clear()
for h in handles:
    h.remove()
model(x).sum().backward()
print(log)
h = register.register_module_forward_pre_hook(lambda m, i: (i[0] * 2,))
k = register.register_module_forward_hook(lambda m, i, o: o + 1)
with torch.no_grad():
    model[0].weight.fill_(1.0)
    model[0].bias.fill_(0.0)
print(model[0](torch.ones(1, 1)))
h.remove()
k.remove()
names = []
p = register.register_module_parameter_registration_hook(lambda m, n, v: names.append(n))
b = register.register_module_buffer_registration_hook(lambda m, n, v: names.append(n))
s = register.register_module_module_registration_hook(lambda m, n, v: names.append(n))
nn.BatchNorm1d(2)
nn.Sequential(nn.Linear(1, 1))
for one in (p, b, s):
    one.remove()
print(names)

# ---- module hooks: what they return, keywords and order
log = []
m = nn.Linear(1, 1)
with torch.no_grad():
    m.weight.fill_(2.0)
    m.bias.fill_(0.0)
x = torch.ones(1, 1, requires_grad=True)
h1 = m.register_forward_pre_hook(lambda m, i: i[0] * 3)
print(m(x))
h1.remove()
h1 = m.register_forward_pre_hook(lambda m, a, k: (a, k), with_kwargs=True)
h2 = m.register_forward_hook(lambda m, a, k, o: o * 10, with_kwargs=True)
print(m(input=x))
h1.remove()
h2.remove()
m.register_forward_hook(lambda m, i, o: log.append("second"))
m.register_forward_hook(lambda m, i, o: log.append("first"), prepend=True)
m(x)
print(log)
m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 5,))
m.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
print(torch.autograd.grad(m(x).sum(), x))
m.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
show(lambda: torch.autograd.grad(m(x).sum(), x))
show(lambda: m.register_backward_hook(lambda m, gi, go: None))

# ---- always_call hooks and hooks of failing modules
class Fails(nn.Module):
    def forward(self, x):
        raise ValueError("inside")


log = []
m = Fails()
m.register_forward_hook(lambda m, i, o: log.append(("always", o)), always_call=True)
m.register_forward_hook(lambda m, i, o: log.append(("never", o)))
show(lambda: m(torch.ones(1)))
print(log)

# ---- multi-grad hooks
log = []
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
c = a * 2
d = b * 3
h = torch.autograd.graph.register_multi_grad_hook((c, d), lambda grads: log.append([g if g is None else g.tolist() for g in grads]))
(c.sum() + d.sum()).backward(retain_graph=True)
c.sum().backward(retain_graph=True)
print(log)
h.remove()
(c.sum() + d.sum()).backward(retain_graph=True)
print(len(log))
log.clear()
h = torch.autograd.graph.register_multi_grad_hook((c, d), lambda g: log.append(g.tolist()), mode="any")
(c.sum() + d.sum()).backward()
print(log)
show(lambda: torch.autograd.graph.register_multi_grad_hook((c, d), print, mode="some"))

# ---- deprecated spellings with their warnings
# library only
import warnings


def told(f):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = f()
        except Exception as error:
            result = f"{type(error).__name__}: {error}".split("\n")[0]
    messages = [str(w.message).split("\n")[0].split(" (Triggered internally")[0] for w in caught]
    return result, list(zip([w.category.__name__ for w in caught], messages))


x = torch.ones(2, requires_grad=True)
y = x * 2
show(
    lambda: told(lambda: y.grad),
    lambda: told(lambda: torch.autograd.Variable(torch.ones(1))),
    lambda: told(lambda: torch.autograd.Variable(torch.ones(1), requires_grad=True)),
    lambda: told(lambda: torch.autograd.Variable(torch.ones(1), volatile=True)),
    lambda: told(lambda: torch.autograd.backward((x * 2).sum(), grad_variables=torch.ones(()))),
    lambda: told(lambda: torch.ones(2, 3).T.shape),
    lambda: told(lambda: torch.ones(2, 3, 4).T.shape),
    lambda: told(lambda: torch.tensor(1.0).T),
    lambda: told(lambda: torch.ones(2).T),
    lambda: told(lambda: F.softmax(torch.ones(2))),
    lambda: told(lambda: F.mse_loss(torch.ones(2), torch.ones(2, 1))),
    lambda: told(lambda: F.tanh(torch.ones(1))),
    lambda: told(lambda: F.sigmoid(torch.ones(1))),
    lambda: told(lambda: (x * x).sum().backward(create_graph=True)),
    lambda: told(lambda: torch.utils.checkpoint.checkpoint(lambda x: x * 2, torch.ones(1), use_reentrant=True)),
)

# ---- anomaly mode
# library only
import warnings

x = torch.tensor([0.0, 1.0], requires_grad=True)


def anomalous(check):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly(check_nan=check):
            (x.sqrt() * 0).sum().backward()
    return x.grad, [str(w.message).split(".")[0] for w in caught]


show(lambda: anomalous(False), lambda: anomalous(True))
print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())

# ---- accumulating gradients, and whose tensor the gradient is
x = torch.ones(2, requires_grad=True)
g = torch.tensor([1.0, 2.0])
(x * 1).backward(g)
first = x.grad
(x * 1).backward(g)
print(x.grad is first, x.grad)
(x * x).sum().backward(create_graph=True)
print(x.grad is first, x.grad.requires_grad, first)
x.grad = None
x.backward(g)
print(x.grad is g, x.grad)
x.backward(g)
print(x.grad, g)
x.grad = torch.zeros(2)
kept = x.grad
(x * 3).sum().backward()
print(kept, x.grad is kept)
y = torch.ones(2, requires_grad=True)
(y.expand(3, 2)).sum().backward()
print(y.grad, y.grad.stride())

# ---- forward mode on operators without a rule
fwAD = torch.autograd.forward_ad
x = torch.tensor([1.0, 2.0])
t = torch.tensor([1.0, 0.5])


def tangent(f):
    with fwAD.dual_level():
        out = f(fwAD.make_dual(x, t))
        return fwAD.unpack_dual(out).tangent


show(
    lambda: tangent(lambda d: d * d),
    lambda: tangent(lambda d: d.sum()),
    lambda: tangent(lambda d: d.argmax()),
    lambda: tangent(lambda d: d > 0),
    lambda: tangent(lambda d: d.long()),
    lambda: tangent(lambda d: d.round()),
    lambda: tangent(lambda d: d.detach()),
    lambda: tangent(lambda d: torch.sort(d).values),
    lambda: tangent(lambda d: torch.cat([d, d])),
    lambda: tangent(lambda d: d.view(2, 1)),
    lambda: tangent(lambda d: d.clone().mul_(3)),
    lambda: tangent(lambda d: torch.zeros(2).copy_(d)),
    lambda: tangent(lambda d: torch.zeros(2) + 1),
    lambda: tangent(lambda d: torch.histc(d)),
    lambda: tangent(lambda d: F.fold(d.view(1, 1, 2)[:, :, :1], 1, 1)),
)

# ---- gradcheck and its errors
def right(x):
    return x * x


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


check = torch.autograd.gradcheck
d = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
show(
    lambda: check(right, (d,)),
    lambda: check(right, d),
    lambda: check(Wrong.apply, (d,), raise_exception=False),
    lambda: check(right, (torch.ones(2, requires_grad=True),), raise_exception=False),
    lambda: check(lambda x: x.detach(), (d,)),
    lambda: check(right, (torch.ones(2, dtype=torch.float64),)),
    lambda: torch.autograd.gradgradcheck(right, (d,)),
    lambda: check(lambda x: (x * x).sum(), (d.expand(2),)),
)
