"""torch.nn.functional: the functions that the operator families define for it."""

from gradtrace.lazy_names import attach

__getattr__, __dir__ = attach(__name__, {}, operators="functional", shown_as="torch.nn.functional")
