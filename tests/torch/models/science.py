"""A graph network, a physics-informed network with second derivatives, and mixed precision with a GradScaler."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.torch.models.case import Case, train


class MessagePassing(nn.Module):
    """Messages along edges, summed at their targets; a GRU cell updates the nodes."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.message = nn.Sequential(
            nn.Linear(2 * width + 1, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.update = nn.GRUCell(width, width)

    def forward(
        self, nodes: torch.Tensor, edges: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        source, target = edges
        messages = self.message(torch.cat([nodes[source], nodes[target], lengths[:, None]], dim=1))
        received = torch.zeros_like(nodes).index_add(0, target, messages)
        return self.update(received, nodes)


class GraphNetwork(nn.Module):
    def __init__(self, kinds: int = 5, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(kinds, width)
        self.layer = MessagePassing(width)
        self.readout = nn.Linear(width, 1)

    def forward(
        self, kinds: torch.Tensor, places: torch.Tensor, edges: torch.Tensor, graph: torch.Tensor
    ):
        lengths = (places[edges[0]] - places[edges[1]]).norm(dim=1)
        nodes = self.embed(kinds)
        for _ in range(3):
            nodes = self.layer(nodes, edges, lengths)
        energies = self.readout(nodes).squeeze(1)
        return torch.zeros(int(graph.max()) + 1).scatter_add(0, graph, energies)


def graph_network() -> Case:
    """Energies of molecules, and forces as their derivatives, so the loss has a second derivative."""
    torch.manual_seed(0)
    model, kinds = GraphNetwork(), torch.randint(0, 5, (12,))
    places = torch.randn(12, 3, requires_grad=True)
    edges = torch.randint(0, 12, (2, 30))
    edges[1] = (edges[0] + 1 + edges[1] % 11) % 12
    graph = torch.arange(12) // 4
    energies, forces = torch.randn(3), torch.randn(12, 3)

    def loss_of() -> torch.Tensor:
        energy = model(kinds, places, edges, graph)
        (slope,) = torch.autograd.grad(energy.sum(), places, create_graph=True)
        return F.mse_loss(energy, energies) + 0.1 * F.l1_loss(-slope, forces)

    return train(model, loss_of, torch.optim.Adam)


def pinn() -> Case:
    """Burgers' equation: first and second derivatives of the network by its inputs, in the loss; L-BFGS steps."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)
    ).double()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, line_search_fn="strong_wolfe")
    inner = torch.rand(20, 2, dtype=torch.float64, requires_grad=True)
    start = torch.cat(
        [torch.linspace(-1, 1, 10, dtype=torch.float64)[:, None], torch.zeros(10, 1).double()],
        dim=1,
    )

    def loss_of() -> torch.Tensor:
        u = model(inner)
        (slope,) = torch.autograd.grad(u, inner, torch.ones_like(u), create_graph=True)
        u_x, u_t = slope[:, :1], slope[:, 1:]
        (curve,) = torch.autograd.grad(u_x, inner, torch.ones_like(u_x), create_graph=True)
        residual = u_t + u * u_x - 0.01 * curve[:, :1]
        return (
            residual.pow(2).mean()
            + (model(start) + torch.sin(torch.pi * start[:, :1])).pow(2).mean()
        )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    return Case([model], [optimizer], lambda: torch.as_tensor(optimizer.step(closure)).detach())


def grad_scaler() -> Case:
    """float16 autocast with a GradScaler, whose first scale overflows so that a step is skipped."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**18, growth_interval=2)
    x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return Case([model], [optimizer], step, [scaler])
