"""The public names of torch.special."""

from gradtrace.lazy_names import attach

__getattr__, __dir__ = attach(__name__, {}, operators="special", shown_as="torch.special")
