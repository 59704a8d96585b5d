"""Embedding tables: rows of a weight looked up by index."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.utils import FunctionModule, new_parameter, store, unusual
from gradtrace.nn.parameter import Parameter


class _Table(FunctionModule):
    padding_message = ""

    def _setup(self, weight: Tensor | None, requires_grad: bool, device: Any, dtype: Any) -> None:
        rows = self.num_embeddings
        columns = self.embedding_dim
        if self.padding_idx is not None:
            if not -rows <= self.padding_idx < rows:
                raise AssertionError(self.padding_message)
            self.padding_idx %= rows
        if weight is None:
            self.weight = new_parameter((rows, columns), device, dtype, requires_grad)
            self.reset_parameters()
            return
        if list(weight.shape) != [rows, columns]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(weight, requires_grad)

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight.select(0, self.padding_idx).fill_(0)


def _rows_and_columns(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    return embeddings.shape[0], embeddings.shape[1]


class Embedding(
    _Table,
    function="embedding",
    passes="weight padding_idx max_norm norm_type scale_grad_by_freq sparse",
):
    """Rows of weight (num_embeddings, embedding_dim) by index: (*) to (*, embedding_dim).

    The weight is initialised standard normal; the row `padding_idx` is zero and gets no gradient.
    """

    padding_message = "Padding_idx must be within num_embeddings"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        store(
            self,
            locals(),
            "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse",
        )
        self._setup(_weight, not _freeze, device, dtype)

    def extra_repr(self) -> str:
        text = (
            f"{self.num_embeddings}, "
            f"{self.embedding_dim}{unusual(self, padding_idx=None, max_norm=None)}"
        )
        return text + unusual(self, norm_type=2, scale_grad_by_freq=False, sparse=False)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        """Create a table with the given rows, frozen unless `freeze` is False."""
        rows, columns = _rows_and_columns(embeddings)
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            embeddings,
            freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows; bags are rows of a 2-D input, or start at
    `offsets`.
    """

    padding_message = "padding_idx must be within num_embeddings"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        store(
            self,
            locals(),
            "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq",
        )
        store(self, locals(), "mode sparse include_last_offset")
        self._setup(_weight, True, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        options = (self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse)
        further = (per_sample_weights, self.include_last_offset, self.padding_idx)
        return F.embedding_bag(input, self.weight, offsets, *options, *further)

    def extra_repr(self) -> str:
        options = unusual(self, max_norm=None, norm_type=2, scale_grad_by_freq=False)
        text = f"{self.num_embeddings}, {self.embedding_dim}{options}, mode={self.mode!r}"
        return text + unusual(self, padding_idx=None)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Any:
        """Create a table with the given rows, frozen unless `freeze` is False."""
        rows, columns = _rows_and_columns(embeddings)
        bag = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
