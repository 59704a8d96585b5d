"""torch.nn.utils.prune: parameters multiplied by a mask of zeros and ones before each call.

https://pytorch.org/docs/stable/nn.html#utilities. `NAME` becomes `NAME_orig * NAME_mask`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import function, tensor_of
from gradtrace.nn.utils._targets import check_tensor, hook_of, put_tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


def count_to_prune(amount: float, size: int) -> int:
    """Return how many of `size` units to prune; `amount` is a count or a fraction. Raise ValueError if out of range."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0.0, 1.0] or a non-negative integer")
    if isinstance(amount, int) and amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return amount if isinstance(amount, int) else round(amount * size)


class BasePruningMethod:
    """Base class of pruning methods: computes a mask, and is the forward pre-hook that applies it."""

    PRUNING_TYPE = "unstructured"
    _tensor_name: str = ""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Create the method from the further arguments, mask a parameter with it, and return it."""
        method = cls(*args, **kwargs)
        prune(module, name, method, importance_scores)
        return method

    def __call__(self, module: Module, inputs: Any) -> None:
        put_tensor(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Any:
        """Return the masked tensor."""
        mask, original = (getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        return mask.to(dtype=original.dtype) * original

    def refined(self, t: Any, mask: Any) -> Any:
        """Return `mask` with the additional zeros that this method chooses among the unpruned elements."""
        part: Any = mask == 1
        if self.PRUNING_TYPE == "structured":
            dim = self.dim % t.ndim  # type: ignore[attr-defined]
            kept = mask.sum([d for d in range(t.ndim) if d != dim]) != 0
            part = tuple(kept if d == dim else slice(None) for d in range(t.ndim))
        elif self.PRUNING_TYPE == "global":
            part = ...
        result = mask.clone()
        result[part] = self.compute_mask(t[part], mask[part]).to(result.dtype)
        return result


class Identity(BasePruningMethod):
    """A mask of ones."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """A mask given by the caller."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class _Amount(BasePruningMethod):
    def __init__(self, amount: float) -> None:
        count_to_prune(amount, 2**62)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Zeros at random elements."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        n, mask = count_to_prune(self.amount, t.numel()), default_mask.clone()
        if n:
            mask.view(-1)[function("rand_like")(t).view(-1).topk(n).indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Zeros at the elements of the smallest magnitude."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        n, mask = count_to_prune(self.amount, t.numel()), default_mask.clone()
        if n:
            mask.view(-1)[t.abs().view(-1).topk(n, largest=False).indices] = 0
        return mask


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Any, n: int) -> Any:
        """Return the index of the channels that stay when `n` are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        n = count_to_prune(self.amount, t.shape[self.dim])
        if not n:
            return default_mask
        kept, mask = self._kept(t, n), function("zeros_like")(t.detach())
        mask[tuple(kept if d == self.dim % t.ndim else slice(None) for d in range(t.ndim))] = 1
        return mask.to(default_mask.dtype) * default_mask


class RandomStructured(_Structured):
    """Zeros at random channels."""

    def _kept(self, t: Any, n: int) -> Any:
        chances = function("rand")(t.shape[self.dim])
        return chances > chances.kthvalue(n).values


class LnStructured(_Structured):
    """Zeros at the channels of the smallest norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Any, n: int) -> Any:
        norms = t.norm(self.n, [d for d in range(t.ndim) if d != self.dim % t.ndim])
        return norms.topk(t.shape[self.dim] - n).indices


class PruningContainer(BasePruningMethod):
    """The methods that have pruned one tensor, in their order; each one prunes what those before have left."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods = methods

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return self._pruning_methods[-1].refined(t, default_mask)


def prune(module: Module, name: str, method: BasePruningMethod, importance_scores: Any = None) -> Module:
    """Mask a parameter by a pruning method; if it is already masked, prune the remaining elements further."""
    method._tensor_name = name
    key, before = hook_of(module, name, BasePruningMethod, "_tensor_name")
    value = tensor_of(module, name)
    scores = value if importance_scores is None else importance_scores
    if scores.shape != value.shape:
        raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
    if key is None:
        original: Any = module._parameters.pop(name)
        module.register_parameter(f"{name}_orig", original)
        mask = method.compute_mask(scores.detach(), function("ones_like")(original.detach()))
    else:
        del module._forward_pre_hooks[key]
        mask = method.refined(scores.detach(), getattr(module, f"{name}_mask"))
        method = PruningContainer(*(before if isinstance(before, PruningContainer) else (before,)), method)
        method._tensor_name = name
    module.register_buffer(f"{name}_mask", mask)
    method(module, ())
    module.register_forward_pre_hook(method)
    return module


def identity(module: Module, name: str) -> Module:
    """Mask with ones."""
    return prune(module, name, Identity())


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Mask random elements: a number or a share of them."""
    return prune(module, name, RandomUnstructured(amount))


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Any = None) -> Module:
    """Mask the elements of the smallest magnitude."""
    return prune(module, name, L1Unstructured(amount), importance_scores)


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Mask random channels along `dim`."""
    return prune(module, name, RandomStructured(amount, dim))


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None) -> Module:
    """Mask the channels along `dim` of the smallest n-norm."""
    return prune(module, name, LnStructured(amount, n, dim), importance_scores)


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Mask by a given mask."""
    return prune(module, name, CustomFromMask(mask))


def global_unstructured(
    parameters: Iterable[Any], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Mask several parameters, given as pairs of a module and a name, by one choice among all their elements."""
    pairs, scores = list(parameters), importance_scores or {}
    cat, method = function("cat"), pruning_method(**kwargs)
    values = cat([scores.get(pair, tensor_of(*pair)).detach().reshape(-1) for pair in pairs])
    masks = [getattr(module, f"{name}_mask", None) for module, name in pairs]
    before = cat(
        [
            function("ones_like")(tensor_of(*pair).detach()).reshape(-1) if mask is None else mask.reshape(-1)
            for pair, mask in zip(pairs, masks, strict=True)
        ]
    )
    final, start = method.refined(values, before), 0
    for module, name in pairs:
        value = tensor_of(module, name)
        custom_from_mask(module, name, final[start : start + value.numel()].view_as(value))
        start += value.numel()


def remove(module: Module, name: str) -> Module:
    """Make the masked tensor an ordinary parameter again."""
    key, hook = hook_of(module, name, BasePruningMethod, "_tensor_name")
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    value, original = hook.apply_mask(module), module._parameters.pop(f"{name}_orig")
    del module._forward_pre_hooks[key], module._buffers[f"{name}_mask"]
    if name in vars(module):
        delattr(module, name)
    check_tensor(original).data = check_tensor(value).data
    put_tensor(module, name, original)
    return module


def is_pruned(module: Module) -> bool:
    """Return whether a module or one of its submodules has a masked parameter."""
    return any(
        isinstance(hook, BasePruningMethod) for child in module.modules() for hook in child._forward_pre_hooks.values()
    )
