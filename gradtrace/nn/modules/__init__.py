"""The layers of torch.nn, one file for each family; `torch.nn` gives them their public names."""

from gradtrace.lazy_names import attach
from gradtrace.nn import HOMES

__getattr__, __dir__ = attach(
    __name__, HOMES, modules={"module": "gradtrace.nn.modules.module"}, shown_as="torch.nn.modules"
)
