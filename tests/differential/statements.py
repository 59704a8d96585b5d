"""Random statements of small PyTorch programs, written as text from what the program's variables are at that point.

Each maker takes a `Scene` and answers one statement. Most statements are legal; some are not (a dimension out of range,
shapes that do not fit, backward through a freed graph), for the errors are compared too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple


def words(text: str) -> list[str]:
    return text.split()


UNARY = words("""abs neg exp sin cos tan tanh sigmoid relu sqrt rsqrt log log1p log2 log10 exp2 expm1 sinh cosh asinh
acosh atan asin acos atanh square reciprocal sign floor ceil round trunc frac erf erfc erfinv lgamma digamma
positive sgn deg2rad rad2deg logit nan_to_num sinc isnan isfinite isinf logical_not signbit""")
ACTIVATIONS = words("""relu relu6 sigmoid tanh softplus silu gelu elu selu celu mish hardtanh hardswish leaky_relu
softsign tanhshrink hardshrink softshrink logsigmoid""")
BINARY = words("""add sub mul div true_divide pow maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 remainder
fmod floor_divide copysign xlogy eq ne lt le gt ge logical_and logical_or logical_xor""")
OPERATORS = words("+ - * / // % ** < <= > >= == !=")
REDUCTIONS = words("""sum mean prod amax amin logsumexp var std all any norm cumsum cumprod softmax log_softmax argmax
argmin max min median mode sort argsort logcumsumexp cummax cummin count_nonzero nansum nanmean aminmax""")
NEEDS_DIM = frozenset(
    words("logsumexp cumsum cumprod softmax log_softmax logcumsumexp cummax cummin mode")
)
IN_PLACE_UNARY = words("""abs_ neg_ exp_ sin_ cos_ tanh_ sigmoid_ relu_ sqrt_ square_ reciprocal_ floor_ round_ zero_
log1p_ expm1_ sign_ trunc_ frac_ nan_to_num_ erf_""")
IN_PLACE_BINARY = words("add_ sub_ mul_ div_ pow_ copy_ fmod_ remainder_ atan2_")
DTYPES = words("float32 float64 int64 int32 bool")
SCALARS = words("2 3 -1 0.5 1.5 -0.5 2.0 1 0 True 10")


class Fact(NamedTuple):
    """What a statement may want to know of a variable."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    tame: bool  # finite and at most some hundred: further operations keep it comparable


class Scene:
    """The variables in sight and the dice."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.facts: list[Fact] = []
        self.made = 0

    def new(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def pick(self, wanted: Callable[[Fact], bool] = lambda fact: True) -> Fact:
        """A variable, more often a later one; one that is not as wanted only rarely, or where no other exists."""
        tame = [fact for fact in self.facts if fact.tame] or self.facts
        fitting = [fact for fact in tame if wanted(fact)]
        if not fitting or self.dice.random() < 0.02:
            fitting = self.facts
        return fitting[max(self.dice.randrange(len(fitting)), self.dice.randrange(len(fitting)))]

    def float(self) -> Fact:
        return self.pick(lambda fact: fact.dtype.startswith("float"))

    def graph(self) -> Fact:
        return self.pick(lambda fact: fact.requires_grad and not fact.is_leaf)

    def leaf(self) -> Fact:
        return self.pick(lambda fact: fact.requires_grad and fact.is_leaf)

    def mate(self, fact: Fact) -> Fact:
        return self.pick(lambda other: broadcasts(fact.shape, other.shape))

    def choice(self, of: Any) -> Any:
        return self.dice.choice(of)

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def scalar(self) -> str:
        return self.choice(SCALARS)

    def dim(self, fact: Fact, extra: int = 0) -> int:
        rank = max(len(fact.shape) + extra, 1)
        beyond = 1 if self.chance(0.03) else 0
        return self.dice.randrange(-rank - beyond, rank + beyond)


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or m == 1 or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))


def size(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


# ---- tensors out of nothing


def numbers(scene: Scene, shape: tuple[int, ...], dtype: str) -> str:
    def number() -> str:
        if dtype == "bool":
            return scene.choice(["True", "False"])
        if dtype.startswith("int"):
            return str(scene.dice.randrange(-4, 5))
        if scene.chance(0.15):
            return scene.choice(
                ["0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "-0.5", "3.0", "-3.0", "6.0", "20.0"]
            )
        return repr(round(scene.dice.uniform(-2.5, 2.5), 3))

    def nest(rest: tuple[int, ...]) -> str:
        if not rest:
            return number()
        return "[" + ", ".join(nest(rest[1:]) for _ in range(rest[0])) + "]"

    return nest(shape)


def some_shape(scene: Scene) -> tuple[int, ...]:
    if scene.chance(0.06):  # without elements
        return scene.choice([(0,), (2, 0), (0, 3), (1, 0, 2)])
    rank = scene.choice([0, 0, 1, 1, 1, 2, 2, 2, 3])
    return tuple(scene.choice([1, 2, 2, 3, 3, 4]) for _ in range(rank))


def create(scene: Scene) -> str:
    shape, name = some_shape(scene), scene.new()
    if scene.chance(0.15):
        return f"{name} = torch." + scene.choice(
            [
                f"ones({list(shape)})",
                f"zeros({list(shape)})",
                f"full({list(shape)}, {scene.scalar()})",
                "arange(4.)",
            ]
            + ["arange(6).reshape(2, 3)", "linspace(-1, 1, 3)", "eye(2)", "arange(1, 4)"]
        )
    if scene.facts and scene.chance(0.15):
        like = scene.pick().name
        return f"{name} = torch.{scene.choice(['ones_like', 'zeros_like'])}({like})"
    dtype = scene.choice(["float32"] * 3 + ["float64"] * 6 + ["int64", "int32", "bool"])
    grad = ", requires_grad=True" if dtype.startswith("float") and scene.chance(0.75) else ""
    return f"{name} = torch.tensor({numbers(scene, shape, dtype)}, dtype=torch.{dtype}{grad})"


# ---- operators


def unary(scene: Scene) -> str:
    x, name = scene.float() if scene.chance(0.9) else scene.pick(), scene.choice(UNARY)
    text = x.name
    if name in {
        "sqrt",
        "rsqrt",
        "log",
        "log2",
        "log10",
        "lgamma",
        "digamma",
        "reciprocal",
    } and scene.chance(0.7):
        text = f"({x.name}.abs() + 0.5)"
    if name in {"asin", "acos", "atanh", "erfinv", "logit"} and scene.chance(0.7):
        text = f"({x.name}.sin() * 0.9)" if name != "logit" else f"{x.name}.sigmoid()"
    form = f"torch.{name}({text})" if scene.chance(0.5) else f"{text}.{name}()"
    return f"{scene.new()} = {form}"


def activation(scene: Scene) -> str:
    return f"{scene.new()} = F.{scene.choice(ACTIVATIONS)}({scene.float().name})"


def binary(scene: Scene) -> str:
    a = scene.float() if scene.chance(0.85) else scene.pick()
    b = scene.mate(a).name if scene.chance(0.75) else scene.scalar()
    first, second = (a.name, b) if scene.chance(0.85) else (b, a.name)
    if scene.chance(0.6):
        return f"{scene.new()} = {first} {scene.choice(OPERATORS[:4] * 3 + OPERATORS)} {second}"
    if scene.chance(0.5):
        return f"{scene.new()} = torch.{scene.choice(BINARY)}({a.name}, {b})"
    return f"{scene.new()} = {a.name}.{scene.choice(BINARY)}({b})"


def with_options(scene: Scene) -> str:
    x = scene.float()
    y, z = scene.mate(x).name, scene.mate(x).name
    form = scene.choice(
        [
            f"torch.clamp({x.name}, -1, 1)",
            f"torch.clamp({x.name}, min={y})",
            f"{x.name}.clamp(max=0.5)",
            f"torch.add({x.name}, {y}, alpha={scene.scalar()})",
            f"torch.sub({x.name}, {y}, alpha={scene.scalar()})",
            f"torch.div({x.name}, {y}, rounding_mode={scene.choice(['None', repr('floor'), repr('trunc')])})",
            f"torch.where({x.name} > 0, {x.name}, {y})",
            f"torch.where({x.name} > {y}, {z}, 0.0)",
            f"torch.addcmul({x.name}, {y}, {z}, value=0.5)",
            f"torch.addcdiv({x.name}, {y}, {z}.abs() + 1.0)",  # an int there is a fault of PyTorch's
            f"torch.lerp({x.name}, {y}, 0.25)",
            f"torch.lerp({x.name}, {y}, {z})",
            f"{x.name}.masked_fill({x.name} > 0, {scene.scalar()})",
            f"{x.name}.pow({scene.scalar()})",
            f"{scene.scalar()} ** {x.name}",
            f"torch.dist({x.name}, {y})",
            f"torch.nan_to_num({x.name}, nan=1.0)",
            f"torch.heaviside({x.name}, {y})",
            f"{x.name}.round(decimals=1)",
        ]
    )
    return f"{scene.new()} = {form}"


def reduction(scene: Scene) -> str:
    x, name = scene.float() if scene.chance(0.85) else scene.pick(), scene.choice(REDUCTIONS)
    arguments = []
    if name in NEEDS_DIM or scene.chance(0.6):
        wide = name in {"sum", "mean", "amax", "amin", "logsumexp", "var", "std"} and scene.chance(
            0.2
        )
        dim: Any = (scene.dim(x), scene.dim(x)) if wide else scene.dim(x)
        arguments.append(f"{dim}" if scene.chance(0.5) else f"dim={dim}")
        fixed = name.startswith(("cum", "logcum")) or name in {
            "softmax",
            "log_softmax",
            "sort",
            "argsort",
        }
        if not fixed and name != "count_nonzero" and scene.chance(0.3):
            arguments.append("keepdim=True")
    if name in {"sort", "argsort"}:
        arguments.append("stable=True")
    if name in {"var", "std"} and scene.chance(0.3):
        arguments.append("unbiased=False" if scene.chance(0.5) else "correction=0")
    call = f"{x.name}.{name}({', '.join(arguments)})"
    if name in {"max", "min", "median", "mode", "sort", "cummax", "cummin"} and (
        arguments or name in {"sort", "mode"}
    ):
        call += ".values" if scene.chance(0.8) else "[1]"
    if name == "aminmax":
        call += ".max"
    return f"{scene.new()} = {call}"


def matrix(scene: Scene) -> str:
    a = scene.pick(lambda fact: fact.dtype.startswith("float") and len(fact.shape) >= 1)
    same = lambda fact: fact.dtype == a.dtype and bool(fact.shape)
    b = scene.pick(lambda fact: same(fact) and a.shape[-1:] == fact.shape[-2:][:1])
    c = scene.pick(lambda fact: same(fact) and fact.shape[-1:] == a.shape[-1:])
    v = scene.pick(lambda fact: same(fact) and fact.shape == a.shape)
    form = scene.choice(
        [
            f"{a.name} @ {b.name}",
            f"torch.matmul({a.name}, {b.name})",
            f"{a.name} @ {c.name}.mT",
            f"{a.name}.mm({b.name})",
            f"F.linear({a.name}, {c.name})",
            f"torch.outer({a.name}, {c.name})",
            f"torch.dot({v.name}, {a.name})",
            f"torch.einsum('ij,kj->ik', {a.name}, {c.name})",
            f"torch.einsum('...i,...i->...', {a.name}, {v.name})",
            f"torch.cdist({a.name}, {c.name})",
            f"{a.name}.inner({c.name})",
            f"torch.kron({a.name}.contiguous(), {c.name}.contiguous())",
            f"torch.addmm({v.name}, {a.name}, {b.name})",
            f"{a.name}.mv({c.name})",
            f"torch.trace({a.name})",
            f"torch.tensordot({a.name}, {c.name}, dims=0)",
            f"torch.cosine_similarity({a.name}, {v.name}, dim=-1)",
            f"{a.name}.tril()",
            f"{a.name}.triu(1)",
            f"torch.cross({a.name}, {v.name} + 1, dim=-1)",
        ]
    )
    return f"{scene.new()} = {form}"


# ---- views and shapes


def view_of(scene: Scene, x: Fact) -> str:
    total, rank = size(x.shape), len(x.shape)
    d, e = scene.dim(x), scene.dim(x)
    n = x.shape[d] if rank and -rank <= d < rank else 1
    start = scene.dice.randrange(max(n, 1))
    forms = [
        f"{x.name}.view(-1)",
        f"{x.name}.reshape(-1)",
        f"{x.name}.reshape({total})",
        f"{x.name}.view({total}, 1)",
        f"{x.name}.flatten()",
        f"{x.name}.transpose({d}, {e})",
        f"{x.name}.unsqueeze({scene.dim(x, 1)})",
        f"{x.name}.squeeze()",
        f"{x.name}.squeeze({d})",
        f"{x.name}.T",
        f"{x.name}.mT",
        f"{x.name}.detach()",
        f"{x.name}[...]",
        f"{x.name}[None]",
        f"{x.name}.expand(2, {', '.join(['-1'] * rank)})",
        f"{x.name}.view_as({scene.pick().name})",
        f"{x.name}.movedim({d}, {e})",
        f"{x.name}.swapaxes({d}, {e})",
        f"{x.name}.alias_copy()" if scene.chance(0.05) else f"{x.name}.contiguous()",
    ]
    if rank:
        forms += [
            f"{x.name}[{start}]",
            f"{x.name}[{start}:]",
            f"{x.name}[::2]",
            f"{x.name}[..., {scene.dice.randrange(x.shape[-1]) if x.shape[-1] else 0}]",
            f"{x.name}.select({d}, {start})",
            f"{x.name}.narrow({d}, {start}, {n - start})",
            f"{x.name}.split(1, {d})[0]",
            f"{x.name}.chunk(2, {d})[-1]",
            f"{x.name}.unbind({d})[0]",
            f"{x.name}.permute({', '.join(map(str, scene.dice.sample(range(rank), rank)))})",
            f"{x.name}.unfold({d}, 1, 1)",
        ]
    if rank >= 2:
        forms += [
            f"{x.name}.diagonal()",
            f"{x.name}[:, {scene.dice.randrange(x.shape[1]) if x.shape[1] else 0}]",
            f"{x.name}[:, None]",
            f"{x.name}.flatten(0, 1)",
            f"{x.name}.t()",
        ]
    if total % 2 == 0 and total:
        forms.append(f"{x.name}.view(2, {total // 2})")
    return scene.choice(forms)


def view(scene: Scene) -> str:
    return f"{scene.new()} = {view_of(scene, scene.pick())}"


def rearrange(scene: Scene) -> str:
    x = scene.float()
    y = scene.pick(lambda fact: fact.shape == x.shape)
    d = scene.dim(x)
    n = x.shape[d] if -len(x.shape) <= d < len(x.shape) else 1
    at = [scene.dice.randrange(max(n, 1)) for _ in range(3)]
    form = scene.choice(
        [
            f"torch.cat([{x.name}, {y.name}], {d})",
            f"torch.stack([{x.name}, {y.name}], {d})",
            f"torch.cat(({x.name}, {x.name}, {y.name}))",
            f"{x.name}.flip({scene.choice([d, '()'])})",
            f"{x.name}.roll(1, {d})",
            f"{x.name}.repeat(2, {', '.join(['1'] * len(x.shape))})"
            if x.shape
            else f"{x.name}.repeat(2)",
            f"{x.name}.repeat_interleave(2, {d})",
            f"torch.tile({x.name}, (2,))",
            f"{x.name}.index_select({d}, torch.tensor({at}))",
            f"{x.name}[{x.name} > 0]",
            f"{x.name}[torch.tensor({at})]",
            f"torch.masked_select({x.name}, {y.name} > 0)",
            f"torch.gather({x.name}, {d}, torch.zeros({list(x.shape)}, dtype=torch.int64))",
            f"torch.take({x.name}, torch.tensor([0, 0]))",
            f"{x.name}.diff(dim={d})",
            f"F.pad({x.name}, (1, 2))",
            f"{x.name}.scatter({d}, torch.zeros({list(x.shape)}, dtype=torch.int64), {y.name})",
            f"{x.name}.index_add({d}, torch.tensor([0]), {y.name}.narrow({d}, 0, 1))",
            f"{x.name}.diag()",
            f"torch.diag_embed({x.name})",
            f"torch.broadcast_to({x.name}, {[2, *x.shape]})",
            f"torch.topk({x.name}, 1, dim={d}).values",
            f"{x.name}.clone()",
            f"torch.meshgrid({x.name}.flatten(), {y.name}.flatten(), indexing='ij')[0]",
            f"torch.rot90({x.name})",
            f"torch.hstack(({x.name}, {y.name}))",
            f"torch.vstack(({x.name}, {y.name}))",
        ]
    )
    return f"{scene.new()} = {form}"


def cast(scene: Scene) -> str:
    x = scene.pick()
    form = scene.choice(
        [
            f"{x.name}.to(torch.{scene.choice(DTYPES)})",
            f"{x.name}.double()",
            f"{x.name}.float()",
            f"{x.name}.long()",
        ]
        + [
            f"{x.name}.type_as({scene.pick().name})",
            f"{x.name}.bool()",
            f"{x.name}.clone()",
            f"{x.name}.data",
        ]
        + [f"{x.name}.detach().clone().requires_grad_()", f"{x.name}.detach()"]
    )
    return f"{scene.new()} = {form}"


# ---- in place


def in_place(scene: Scene) -> str:
    x = scene.pick(
        lambda fact: fact.dtype.startswith("float") and not (fact.is_leaf and fact.requires_grad)
    )
    if scene.chance(0.1):
        x = scene.pick()
    target = x.name if scene.chance(0.7) else view_of(scene, x)
    other = scene.mate(x).name if scene.chance(0.6) else scene.scalar()
    statement = scene.choice(
        [
            f"{target}.{scene.choice(IN_PLACE_UNARY)}()",
            f"{target}.{scene.choice(IN_PLACE_UNARY)}()",
            f"{target}.{scene.choice(IN_PLACE_BINARY)}({other})",
            f"{target}.{scene.choice(IN_PLACE_BINARY)}({other})",
            f"{x.name} {scene.choice(['+=', '-=', '*=', '/=', '**='])} {other}",
            f"{target}.clamp_({scene.choice(['-1, 1', 'min=0', 'max=0.5'])})",
            f"{target}.fill_({scene.scalar()})",
            f"{target}.masked_fill_({x.name} > 0, {scene.scalar()})",
            f"{x.name}[0] = {other}",
            f"{x.name}[...] = {other}",
            f"{x.name}[{x.name} > 0] = {scene.scalar()}",
            f"{x.name}[-1] += {scene.scalar()}" if size(x.shape) and x.shape else f"{x.name} += 1",
            f"{x.name}[..., 0] *= {scene.scalar()}"
            if size(x.shape) and x.shape
            else f"{x.name} *= 2",
            f"{target}.addcmul_({scene.mate(x).name}, {scene.mate(x).name})",
            f"{x.name}.lerp_({scene.mate(x).name}, 0.5)",
            f"{x.name}.t_()",
            f"{x.name}.unsqueeze_(0)",
            f"{x.name}.squeeze_()",
            f"{x.name}.transpose_(0, -1)",
            f"{x.name}.index_fill_(0, torch.tensor([0]), 2.0)"
            if size(x.shape)
            else f"{x.name}.zero_()",
            f"{x.name}.detach_()",
            f"F.relu({target}, inplace=True)",
            f"{target}.cumsum_(0)",
        ]
    )
    if scene.chance(0.15):
        return f"with torch.no_grad(): {statement}"
    return statement


# ---- custom Functions


def custom(scene: Scene) -> str:
    x = scene.float()
    target = x.name if scene.chance(0.6) else view_of(scene, x)
    in_place = scene.choice(
        [f"Twice.apply({target})", f"AddTo.apply({target}, {scene.float().name})"]
    )
    statement = scene.choice(
        [
            in_place,
            f"{scene.new()} = {in_place}",
            f"{scene.new()} = {scene.choice(['Squared', 'Same', 'Flat'])}.apply({target})",
            f"{scene.new()}, {scene.new()} = Halves.apply({target})",
        ]
    )
    if scene.chance(0.15):
        return f"with torch.no_grad(): {statement}"
    return statement


# --- the graph


def flag(scene: Scene) -> str:
    x = scene.pick()
    return scene.choice(
        [
            f"{x.name}.requires_grad_()",
            f"{x.name}.requires_grad_(False)",
            f"{scene.graph().name}.retain_grad()",
            f"{scene.graph().name}.retain_grad()",
            f"{x.name}.retain_grad()",
            f"{x.name}.requires_grad = True",
            f"{x.name}.grad = None",
            f"{x.name}.grad = torch.ones_like({x.name})",
            f"{scene.leaf().name}.grad.zero_()",
            f"{x.name}.data = {x.name}.data * 2",
            f"{x.name}.data.mul_(0.5)",
        ]
    )


def hook(scene: Scene) -> str:
    x = scene.pick(lambda fact: fact.requires_grad)
    return scene.choice(
        [
            f"{x.name}.register_hook(lambda g: g * 2)",
            f"{x.name}.register_hook(lambda g: log.append(('{x.name}', g.clone())))",
            f"{scene.leaf().name}.register_post_accumulate_grad_hook(lambda p: log.append(('after', p.grad.clone())))",
            f"{scene.graph().name}.grad_fn.register_hook(lambda gi, go: log.append((len(gi), len(go))))",
            f"{scene.graph().name}.grad_fn.register_prehook(lambda go: log.append(('pre', len(go))))",
            f"h = {x.name}.register_hook(lambda g: g + 1); h.remove()",
        ]
    )


def grad_modes(scene: Scene) -> str:
    a = scene.float()
    b = scene.mate(a)
    name = scene.new()
    return scene.choice(
        [
            f"with torch.no_grad(): {name} = {a.name} * {b.name}",
            f"with torch.set_grad_enabled({scene.choice(['True', 'False'])}): {name} = {a.name} + {b.name}",
            f"with torch.no_grad(): {name} = {view_of(scene, a)}",
            f"with torch.enable_grad(): {name} = {a.name}.sin()",
            f"with torch.inference_mode(): {name} = {a.name} * 2",
        ]
    )


def flags(scene: Scene) -> str:
    some = [text for text in ("retain_graph=True", "create_graph=True") if scene.chance(0.45)]
    return "".join(", " + text for text in some)


def backward(scene: Scene) -> str:
    y = scene.graph()
    scalar = not y.shape or scene.chance(0.6)
    root = y.name if not y.shape else f"{y.name}.sum()"
    if not scalar:
        weights = numbers(scene, y.shape, "float64")
        return f"{y.name}.backward(torch.tensor({weights}, dtype=torch.{y.dtype}){flags(scene)})"
    if scene.chance(0.1):
        return f"{y.name}.backward({flags(scene)[2:]})"
    if scene.chance(0.15):
        return f"{root}.backward(inputs=[{scene.leaf().name}, {scene.leaf().name}]{flags(scene)})"
    if scene.chance(0.15):
        z = scene.graph()
        return f"torch.autograd.backward([{root}, {z.name}.sum()]{flags(scene)})"
    return f"{root}.backward({flags(scene)[2:]})"


def gradient(scene: Scene) -> str:
    y, x, z = scene.graph(), scene.pick(lambda fact: fact.requires_grad), scene.leaf()
    more = flags(scene) + (", allow_unused=True" if scene.chance(0.7) else "")
    more += ", materialize_grads=True" if scene.chance(0.1) else ""
    name = scene.new()
    if scene.chance(0.3):
        other = scene.new()
        return f"{name}, {other} = fresh(torch.autograd.grad({y.name}.sum(), [{x.name}, {z.name}]{more}))"
    if scene.chance(0.2):
        return f"{name}, = fresh(torch.autograd.grad({y.name}, {x.name}, torch.ones_like({y.name}){more}))"
    if scene.chance(0.2):
        w = scene.graph()
        return f"{name}, = fresh(torch.autograd.grad([{y.name}.sum(), {w.name}.mean()], [{x.name}]{more}))"
    return f"{name}, = fresh(torch.autograd.grad({y.name}.sum(), {x.name}{more}))"


def layer(scene: Scene) -> str:
    x = scene.pick(lambda fact: fact.dtype.startswith("float") and len(fact.shape) >= 1)
    y = scene.pick(lambda fact: fact.shape == x.shape and fact.dtype == x.dtype)
    last = list(x.shape[-1:])
    target = [
        scene.dice.randrange(max(last[0] if last else 1, 1))
        for _ in range(x.shape[0] if x.shape else 1)
    ]
    reduction = scene.choice(["", ", reduction='sum'", ", reduction='none'"])
    form = scene.choice(
        [
            f"F.mse_loss({x.name}, {y.name}{reduction})",
            f"F.l1_loss({x.name}, {y.name}{reduction})",
            f"F.smooth_l1_loss({x.name}, {y.name}{reduction})",
            f"F.huber_loss({x.name}, {y.name}{reduction})",
            f"F.binary_cross_entropy({x.name}.sigmoid(), {y.name}.detach().sigmoid(){reduction})",
            f"F.binary_cross_entropy_with_logits({x.name}, {y.name}{reduction})",
            f"F.kl_div({x.name}, {y.name}{reduction})",
            f"F.cross_entropy({x.name}, torch.tensor({target}){reduction})",
            f"F.nll_loss({x.name}, torch.tensor({target}){reduction})",
            f"F.layer_norm({x.name}, {last})",
            f"F.softmax({x.name}, {scene.dim(x)})",
            f"F.log_softmax({x.name}, dim={scene.dim(x)})",
            f"F.normalize({x.name}, dim={scene.dim(x)})",
            f"F.softmin({x.name}, dim=-1)",
            f"F.glu({x.name}, {scene.dim(x)})",
            f"F.prelu({x.name}, torch.tensor([0.25], dtype={x.name}.dtype))",
            f"F.avg_pool1d({x.name}, 2)",
            f"F.max_pool1d({x.name}, 2)",
            f"F.conv1d({x.name}, torch.ones(1, {x.shape[-2] if len(x.shape) > 1 else 1}, 2, dtype={x.name}.dtype))",
            f"F.dropout({x.name}, 0.5, training=False)",
            f"F.one_hot(torch.tensor({target}))",
            f"F.embedding(torch.tensor([0, 0]), {x.name})",
            f"F.gelu({x.name}, approximate='tanh')",
            f"F.softplus({x.name}, beta=2)",
            f"F.elu({x.name}, 0.5)",
            f"F.leaky_relu({x.name}, 0.1)",
        ]
    )
    return f"{scene.new()} = {form}"


def random_numbers(scene: Scene) -> str:
    """New random numbers, or a tensor filled with them, after a seed."""
    x = scene.float()
    seed = f"torch.manual_seed({scene.dice.randrange(1000)})"
    if scene.chance(0.3):
        fill = scene.choice(
            [
                "normal_()",
                "normal_(1, 0.5)",
                "uniform_(-1, 2)",
                "bernoulli_(0.3)",
                "exponential_(2)",
                "random_(5)",
            ]
            + [
                "random_(-2, 3)",
                "geometric_(0.4)",
                "log_normal_(0, 0.5)",
                "bernoulli_(torch.tensor(0.6))",
            ]
        )
        return f"{seed}; {x.name if scene.chance(0.7) else view_of(scene, x)}.{fill}"
    sizes = list(some_shape(scene))
    form = scene.choice(
        [
            f"torch.randn({sizes})",
            f"torch.rand({sizes})",
            f"torch.randint(-3, 4, {sizes})",
            "torch.randn(17)",
        ]
        + [
            f"torch.randn({sizes}, dtype=torch.float64)",
            f"torch.normal(0.5, 2.0, {sizes})",
            "torch.randperm(4)",
        ]
        + [
            f"torch.rand_like({x.name})",
            f"torch.randn_like({x.name})",
            f"torch.bernoulli({x.name}.sigmoid())",
        ]
        + [
            f"torch.normal({x.name}, 1.0)",
            f"torch.poisson({x.name}.sigmoid())",
            f"F.dropout({x.name}, 0.4)",
        ]
        + [
            f"F.alpha_dropout({x.name}, 0.4, True)",
            f"torch.multinomial({x.name}.reshape(-1).sigmoid(), 1)",
        ]
    )
    return f"{seed}; {scene.new()} = {form}"


MAKERS: list[tuple[Callable[[Scene], str], int]] = [
    (create, 3),
    (unary, 8),
    (activation, 3),
    (binary, 14),
    (with_options, 6),
    (reduction, 7),
    (matrix, 4),
    (view, 9),
    (rearrange, 5),
    (cast, 2),
    (in_place, 9),
    (custom, 3),
    (flag, 3),
    (hook, 3),
    (grad_modes, 2),
    (backward, 6),
    (gradient, 6),
    (layer, 4),
    (random_numbers, 4),
]


def statement(scene: Scene) -> str:
    """One more statement for this scene."""
    if len(scene.facts) < 3:
        return create(scene)
    makers, weights = zip(*MAKERS, strict=True)
    maker = scene.dice.choices(makers, weights)[0]
    return maker(scene)
