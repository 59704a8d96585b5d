# ---- retain_grad of a view that is changed in place
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
base = a * 1
view = base[1:]
view.retain_grad()
view.mul_(2)
(base * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
print(view.retains_grad, view.grad, a.grad)

# ---- retain_grad of a view whose base is changed
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
base = a * 1
view = base[1:]
view.retain_grad()
base.mul_(2)
print(view.grad_fn.name())
(view * 5).sum().backward()
print(view.grad, a.grad)

# ---- retain_grad of a view whose base is changed and that is not looked at
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
base = a * 1
view = base[1:]
view.retain_grad()
y = view * 3
base.mul_(2)
(y.sum() + base.sum()).backward()
print(view.grad, a.grad)

# ---- retain_grad of a base whose view is changed
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
base = a * 1
base.retain_grad()
view = base[1:]
view.mul_(2)
view.retain_grad()
(base * 3).sum().backward()
print(base.grad, view.grad, a.grad)

# ---- retain_grad of a view changed twice, and hooks
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
base = a * 1
view = base[1:]
view.register_hook(lambda g: print("first", g))
view.retain_grad()
view.mul_(2)
view.register_hook(lambda g: print("second", g))
view.add_(view * 3)
view.retain_grad()
view.register_hook(lambda g: print("third", g))
(view * 2).sum().backward()
print(view.grad, a.grad)

# ---- retain_grad of a tensor that is not a view and changed in place
a = torch.tensor([1.0, 2.0], requires_grad=True)
x = a * 1
x.retain_grad()
x.mul_(2)
x.sum().backward()
print(x.grad, a.grad)

# ---- retain_grad of one output of several
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x, y = (a * 1).split([1, 2])
y.retain_grad()
(x.sum() + (y * 2).sum()).backward()
print(x.retains_grad, y.grad)

# ---- printing views changed under no_grad
x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    view = x[:2]
    view.mul_(2)
print(view)
show(lambda: view.grad_fn, lambda: repr(view), lambda: str(view), lambda: f"{view}", lambda: view.requires_grad)
y = torch.ones(3, requires_grad=True) * 1
with torch.no_grad():
    view = y.view(3)
    same = y[0]
    y.add_(1)
print(view, same)
show(lambda: view.is_leaf, lambda: view + 1, lambda: view.detach(), lambda: [view], lambda: format(same))
with torch.no_grad():
    print(view, view + 1)

# ---- printing views of several outputs whose base was changed
y = torch.ones(3, requires_grad=True) * 1
p, q, r = y.unbind()
print(p)
y.mul_(2)
print(p, q)
show(lambda: p + 1, lambda: p.grad_fn, lambda: p.requires_grad, lambda: p.item(), lambda: p.backward())

# ---- strides of expand
def strides(t):
    return tuple(t.shape), t.stride(), t.is_contiguous()


x = torch.arange(3.0)
m = torch.arange(6.0).reshape(2, 3)
show(lambda: strides(x.expand(2, 3)), lambda: strides(x.expand(3)), lambda: strides(x.expand(1, 3)), lambda: strides(x.expand(1, 1, 3)))
show(lambda: strides(x.expand(2, 1, 3)), lambda: strides(x.expand(1, 2, 3)), lambda: strides(torch.tensor(1.0).expand(2, 3)))
show(lambda: strides(torch.tensor(1.0).expand(1)), lambda: strides(torch.tensor(1.0).expand(1, 1)))
show(lambda: strides(m[:, :1].expand(2, 4)), lambda: strides(m[:1].expand(3, 3)), lambda: strides(m[:1].expand(1, 3)), lambda: strides(m[:1].expand(4, 1, 3)))
show(lambda: strides(m.t().expand(3, 2)), lambda: strides(m.t().expand(1, 3, 2)), lambda: strides(m.t().expand(2, 3, 2)))
show(lambda: strides(m[:, 0:1].expand(-1, 3)), lambda: strides(m.expand(-1, -1)), lambda: strides(m[None].expand(1, 2, 3)))
show(lambda: strides(m.expand_as(torch.zeros(4, 2, 3))), lambda: strides(torch.broadcast_to(x, (2, 3))), lambda: strides(torch.broadcast_to(x, (1, 3))))
show(lambda: [strides(t) for t in torch.broadcast_tensors(x, m, torch.tensor(1.0))], lambda: [strides(t) for t in torch.broadcast_tensors(x, x[None])])
show(lambda: [strides(t) for t in torch.meshgrid(x, x[:2], indexing="ij")], lambda: [strides(t) for t in torch.meshgrid(x[:1], x, indexing="xy")])
show(lambda: [strides(t) for t in torch.meshgrid(torch.tensor(1.0), x, indexing="ij")], lambda: strides(x[:, None].expand(3, 1)))

# ---- strides of other views
def strides(t):
    return tuple(t.shape), t.stride(), t.is_contiguous()


x = torch.arange(3.0)
m = torch.arange(6.0).reshape(2, 3)
c = torch.arange(24.0).reshape(2, 3, 4)
show(lambda: strides(x[None]), lambda: strides(x[:, None]), lambda: strides(x.unsqueeze(0)), lambda: strides(x.unsqueeze(1)), lambda: strides(x.unsqueeze(-2)))
show(lambda: strides(torch.tensor(1.0).unsqueeze(0)), lambda: strides(torch.tensor(1.0)[None, None]), lambda: strides(m.t().unsqueeze(0)))
show(lambda: strides(m.t().unsqueeze(1)), lambda: strides(m.t().unsqueeze(2)), lambda: strides(m[:1].t()), lambda: strides(m[:, :1].t()))
show(lambda: strides(x.view(1, 3)), lambda: strides(x.view(3, 1)), lambda: strides(x.view(1, 3, 1)), lambda: strides(x.reshape(1, 1, 3)))
show(lambda: strides(m[:1].view(3)), lambda: strides(m[:1].view(1, 3)), lambda: strides(m[:1].squeeze(0)), lambda: strides(m[None].squeeze()))
show(lambda: strides(c[:, :1].squeeze(1)), lambda: strides(c[::2]), lambda: strides(c[:, ::2, ::3]), lambda: strides(c[1:1]), lambda: strides(c[:0]))
show(lambda: strides(c.unfold(2, 2, 1)), lambda: strides(c.unfold(0, 1, 1)), lambda: strides(x.unfold(0, 3, 1)), lambda: strides(x.unfold(0, 1, 1)))
show(lambda: strides(c.diagonal()), lambda: strides(c.diagonal(1, 1, 2)), lambda: strides(c.movedim(0, 2)), lambda: strides(c.permute(2, 0, 1)))
show(lambda: strides(c.flatten(1)), lambda: strides(c.flatten(0, 1)), lambda: strides(c.unflatten(2, (2, 2))), lambda: strides(c.unflatten(0, (1, 2))))
show(lambda: strides(c.chunk(2, 2)[1]), lambda: strides(c.split(1, 1)[0]), lambda: strides(c.unbind(1)[0]), lambda: strides(c.narrow(1, 0, 1)))
show(lambda: strides(c.select(1, 0)), lambda: strides(c.transpose(0, 1)[:1]), lambda: strides(c.transpose(0, 2)[0]), lambda: strides(c.mT))
show(lambda: strides(torch.zeros(2, 0, 3)), lambda: strides(torch.zeros(0)), lambda: strides(torch.zeros(0, 2)), lambda: strides(torch.zeros(2, 0)))
show(lambda: strides(torch.zeros(0, 2).view(2, 0)), lambda: strides(torch.zeros(2, 0).unsqueeze(0)))
show(lambda: strides(torch.ones(1, 1)), lambda: strides(torch.ones(1, 2, 1)), lambda: strides(torch.ones(2, 1).t()), lambda: strides(torch.ones(1, 1).t()))
show(lambda: strides(m.t().clone()), lambda: strides(m.t().contiguous()), lambda: strides(m.t() + 1), lambda: strides(m.t().exp()), lambda: strides(m[:1].clone()))
show(lambda: strides(m.as_strided((2, 2), (1, 1))), lambda: strides(m.as_strided((1, 2), (7, 1))))
show(lambda: strides(torch.zeros_like(m.t())), lambda: strides(torch.zeros_like(m[:, ::2])), lambda: strides(m.new_zeros(1, 2)), lambda: strides(m[:, ::2].clone()))
show(lambda: strides(torch.zeros_like(x.expand(2, 3))), lambda: strides(x.expand(2, 3).clone()), lambda: strides(x.expand(2, 3) + 1), lambda: strides(x.expand(2, 3).exp()))

# ---- strides of tensors made like others
def strides(t):
    return tuple(t.shape), t.stride()


c = torch.arange(24.0).reshape(2, 3, 4)
for t in (c, c.permute(2, 0, 1), c.permute(2, 0, 1)[::2], c[:1].expand(2, 3, 4), c[:, :1].expand(2, 3, 4)):
    print(strides(torch.zeros_like(t)), strides(torch.ones_like(t)), strides(torch.empty_like(t)), strides(torch.full_like(t, 2)))
    print(strides(torch.rand_like(t)), strides(torch.randn_like(t)), strides(torch.randint_like(t, 3)), strides(t.clone()))
    print(strides(torch.zeros_like(t, dtype=torch.int64)), strides(t.new_zeros(t.shape)), strides(t.contiguous()), strides(t + 1))

# ---- meshgrid
x = torch.arange(3.0, requires_grad=True)
y = torch.arange(2.0, requires_grad=True)
for indexing in ("ij", "xy"):
    for g in torch.meshgrid(x, y, torch.ones(1), indexing=indexing):
        print(g, g.stride())
    print(torch.meshgrid(x, indexing=indexing), torch.meshgrid([x, torch.tensor(2.0)], indexing=indexing))
grids = torch.meshgrid(x, y, indexing="xy")
(grids[0] * grids[1]).sum().backward()
print(x.grad, y.grad)

# ---- views of custom layout and their storage
x = torch.arange(6.0).reshape(2, 3)
v = x.t()[1:]
print(v.storage_offset(), v._is_view(), v._base is x, v.is_contiguous(), v.data_ptr() == x.data_ptr() + 4)
show(lambda: v.view(-1), lambda: v.reshape(-1), lambda: v.contiguous().view(-1), lambda: x.expand(2, 2, 3).view(-1))
show(lambda: x[0].expand(2, 3).mul_(2), lambda: x[:, :1].expand(2, 3).fill_(0), lambda: x)

# ---- in place with wider operands
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
for change in (
    lambda x: x.mul_(w),
    lambda x: x.add_(w),
    lambda x: x[1:].mul_(w[1:]),
    lambda x: x.addcmul_(w, w),
    lambda x: x.div_(w),
    lambda x: x.copy_(w),
    lambda x: x.__setitem__(0, w[0]),
    lambda x: x.masked_fill_(x > 1, 2.0),
    lambda x: x.pow_(w),
):
    x = a * 1
    x.retain_grad()
    change(x)
    x.register_hook(lambda g: print("hook", g))
    show(lambda: x.sum().backward(), lambda: x.grad, lambda: (a.grad, w.grad))
    a.grad = w.grad = None

# ---- broadcast_tensors of what has the shape already
x = torch.ones(2, 3, requires_grad=True)
y = torch.ones(3, requires_grad=True)
p, q = torch.broadcast_tensors(x, y)
print(p is x, p.grad_fn, q.grad_fn.name(), x.expand(2, 3).grad_fn.name(), torch.broadcast_to(x, (2, 3)).grad_fn.name())
for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
    for loss in (f(x, y), f(y, x), f(x, x * 2)):
        print(loss.grad_fn.name(), [node and node.name() for node, _ in loss.grad_fn.next_functions])

# ---- copies of views are contiguous and new
a = torch.arange(6.0).view(2, 3)
copies = (
    torch.view_copy(a, (3, 2)), torch.transpose_copy(a, 0, 1), torch.t_copy(a), torch.expand_copy(a, (2, 2, 3)),
    torch.diagonal_copy(a), torch.squeeze_copy(a[None]), torch.unsqueeze_copy(a, 0), torch.select_copy(a, 0, 1),
    torch.permute_copy(a, (1, 0)), torch.as_strided_copy(a, (2,), (1,)), torch.unfold_copy(a, 1, 2, 1),
    torch.detach_copy(a), torch.narrow_copy(a, 1, 0, 2), *torch.split_copy(a, 1), *torch.unbind_copy(a),
    *torch.split_with_sizes_copy(a, [1, 1]), torch.view_copy(a.t(), (2, 3)),
)  # fmt: skip
for copy in copies:
    print(copy.shape, copy.stride(), copy._is_view(), copy.sum())
x = torch.ones(2, 3, requires_grad=True)
torch.select_copy(x, 0, 1).sum().backward()
print(x.grad, type(torch.split_copy(a, 1)))

# ---- real, imag and the transposes of real tensors
t = torch.ones(2, 2)
a = torch.ones(2, requires_grad=True)
show(lambda: torch.imag(t), lambda: t.imag, lambda: t.real is t, lambda: torch.real(t) is t, lambda: a.real)
show(lambda: torch.is_conj(t), lambda: torch.is_neg(t), lambda: torch.is_complex(t), lambda: t.adjoint().shape)
b = torch.ones(2, 3, 4)
show(lambda: b.H, lambda: b.mT.shape, lambda: torch.ones(2).adjoint(), lambda: torch.ones(()).adjoint())

# ---- arguments of narrow, split and tensor_split
x = torch.arange(9).view(3, 3)
show(lambda: x.narrow(0, torch.tensor(1), 1), lambda: x.narrow(0, torch.tensor(0.0), 1))
show(lambda: x.narrow(0, torch.tensor([0]), 1), lambda: x.narrow(0, torch.tensor([0, 1]), 1))
show(lambda: [s.shape for s in x[:0].split(0)])
t = torch.arange(7)
show(lambda: t.tensor_split(torch.tensor([1.0])), lambda: t.tensor_split(torch.tensor([[1]])))
show(lambda: t.tensor_split(indices=[1, 6]), lambda: t.tensor_split(sections=2))
show(lambda: t.tensor_split(torch.tensor(3)), lambda: torch.tensor_split(t, 2, 1))

# ---- broadcast_shapes
show(lambda: torch.broadcast_shapes((2,), (3, 1)), lambda: torch.broadcast_shapes((3, 5), (2, 4, 1)))
show(lambda: torch.broadcast_shapes(1, 1, -12), lambda: torch.broadcast_shapes((1, -12)))
show(lambda: torch.broadcast_shapes(1.1), lambda: torch.broadcast_shapes(), lambda: torch.broadcast_shapes((2, 0), 1))

# ---- a changed index is named by its type
x = torch.arange(4.0, requires_grad=True)
for index in (torch.tensor([0, 1, 1, 0], dtype=torch.uint8), torch.tensor([True, False, True, False]), torch.tensor([0, 1])):
    y = (x * 1)[index]
    index[0] = 1 - index[0] if index.dtype != torch.bool else False
    show(lambda: y.sum().backward())

# ---- which indexing gives a view
x = torch.arange(24.0).view(2, 3, 4)
for k in (0, slice(1), (0, 1), (slice(None), 1), Ellipsis, None, [0], torch.tensor(0), (0, [1]), True, (0, Ellipsis, 1)):
    y = x[k]
    print(y.shape, y._is_view(), y.stride())

# ---- writes through chains of views reach the base
base = torch.zeros(4, 4, requires_grad=True)
x = base.clone()
x[1:3, 1:3].fill_(2.0)
x.diagonal().add_(1)
x.t()[0].mul_(3)
x.view(-1)[::5].sub_(1)
print(x)
x.pow(2).sum().backward()
print(base.grad)

# ---- a copy of a view is named after the view
a = torch.arange(4.0).reshape(2, 2).requires_grad_()
show(
    lambda: torch.diagonal_copy(a),
    lambda: torch.expand_copy(a, (2, 2, 2))[0],
    lambda: torch.permute_copy(a, (1, 0)),
    lambda: torch.select_copy(a, 0, 1),
    lambda: torch.split_copy(a, 1),
    lambda: torch.unbind_copy(a),
    lambda: torch.squeeze_copy(a),
    lambda: torch.t_copy(a),
    lambda: torch.transpose_copy(a, 0, 1),
    lambda: torch.unsqueeze_copy(a, 0),
    lambda: torch.unfold_copy(a, 0, 1, 1).shape,
    lambda: torch.as_strided_copy(a, (2,), (1,)),
    lambda: torch.view_copy(a, (4,)),
    lambda: torch.alias_copy(a),
    lambda: torch.alias_copy(a)._is_view(),
    lambda: torch.autograd.grad(torch.select_copy(a, 0, 1).sum(), a),
)

# ---- tensors with given strides and formats
x = torch.empty_strided((2, 3), (1, 2))
print(x.shape, x.stride(), x.is_contiguous(), len(x.storage()), x.dtype, x.new_empty_strided((2, 2), (2, 1)).stride())
show(lambda: torch.empty_strided((2,), (1, 2)), lambda: torch.empty_strided((-2,), (1,)))
print(torch.empty_strided((2, 3), (3, 1), dtype=torch.int64, requires_grad=False).dtype)
show(lambda: torch.ones(2).as_strided((-3,), (1,)))
parts = torch.vmap(lambda t: t.tensor_split(2))(torch.arange(8.0).reshape(2, 4))
print(parts)
