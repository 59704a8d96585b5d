"""The part of torch.utils that gradtrace has: _pytree, benchmark, checkpoint, data."""

from gradtrace.lazy_names import attach

__all__ = ["benchmark", "checkpoint", "data"]

__getattr__, __dir__ = attach(
    __name__,
    {},
    modules={**{name: f"{__name__}.{name}" for name in __all__}, "_pytree": f"{__name__}.nested"},
    shown_as="torch.utils",
)
