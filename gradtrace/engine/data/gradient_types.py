"""The types, for annotations, that name Tensor and Node: of gradients, and of what `backward` and
`grad` take.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Mapping, Sequence

if TYPE_CHECKING:
    from typing import TypeAlias

    from gradtrace.engine.data.node import Edge, GradientEdge, Node
    from gradtrace.engine.data.tensor import Tensor
    from gradtrace.engine.data.types import Array

    Gradient: TypeAlias = float | Array | Tensor  # raw data, or a Tensor in a recorded pass
    # a dict by output number if there are several
    NodeGradient: TypeAlias = Gradient | dict[int, Gradient] | None
    InputGradients: TypeAlias = Sequence[Gradient | None]  # one for each edge of a node
    # of the node at the end of an edge and its gradient
    Pairs: TypeAlias = Sequence[tuple[Node, NodeGradient]]
    # of `backward`, `grad`
    Outputs: TypeAlias = Tensor | Edge | GradientEdge | Sequence[Tensor | Edge | GradientEdge]
    Inputs: TypeAlias = Outputs | Mapping[str, Tensor]
    Vectors: TypeAlias = Tensor | Sequence[Tensor | None] | None  # of the vector-Jacobian product
else:
    Gradient = NodeGradient = InputGradients = Pairs = Outputs = Inputs = Vectors = None
