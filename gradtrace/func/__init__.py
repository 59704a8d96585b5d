"""torch.func: function transforms, which take a function and return a function that computes its
derivatives.

https://pytorch.org/docs/stable/func.html. Forward-mode results (jvp, jacfwd) are computed in
reverse mode, twice if needed; the values are the same.
"""

from __future__ import annotations

from gradtrace.lazy_names import attach, homes

_HOMES = homes(
    __name__,
    {
        "transforms": "functionalize grad grad_and_value jvp linearize value_and_grad vjp",
        "jacobians": "hessian jacfwd jacrev",
        "batching": "vmap",
        "stateless": "functional_call replace_all_batch_norm_modules_ stack_module_state",
    },
)

__all__ = list(_HOMES)

__getattr__, __dir__ = attach(__name__, _HOMES, shown_as="torch.func")
