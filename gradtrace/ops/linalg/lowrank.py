"""svd_lowrank and pca_lowrank: singular values by random projections (Halko et al., 2009,
arXiv:0909.4061).
"""

from __future__ import annotations

from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.api import public
from gradtrace.ops.linalg.decompositions import linalg_qr, linalg_svd
from gradtrace.ops.random.sampling import normal


@public(forms="f")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Return U, S, V of rank `q` with A - M close to U @ diag(S) @ V.T (torch.svd_lowrank)."""
    if M is not None:
        A = A - M
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A = A.mH
    basis = linalg_qr(A @ normal(0.0, 1.0, (A.shape[-1], 6 if q is None else q), dtype=A.dtype))[0]
    for _ in range(2 if niter is None else niter):
        basis = linalg_qr(A @ linalg_qr(A.mH @ basis)[0])[0]
    u, s, vh = linalg_svd(basis.mH @ A, full_matrices=False)
    left = basis @ u
    right = vh.mH
    return (right, s, left) if wide else (left, s, right)


@public(forms="f")
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, ...]:
    """Return U, S, V of the rows of a matrix, by default minus their mean (torch.pca_lowrank)."""
    least = min(A.shape[-2:])
    if q is None:
        q = min(6, least)
    elif not 0 <= q <= least:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}"
        )
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
