"""The public names of torch.linalg."""

from gradtrace.lazy_names import attach

__getattr__, __dir__ = attach(__name__, {}, operators="linalg", shown_as="torch.linalg")
