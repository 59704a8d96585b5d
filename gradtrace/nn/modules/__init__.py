"""The layers of torch.nn, one file for each family; `torch.nn` gives them their public names."""

from gradtrace.lazy_names import attach
from gradtrace.nn import FAMILIES, HOMES

__getattr__, __dir__ = attach(
    __name__,
    HOMES,
    modules={
        family.removeprefix("modules."): f"gradtrace.nn.{family}"
        for family in FAMILIES
        if "." in family
    },
    shown_as="torch.nn.modules",
)
