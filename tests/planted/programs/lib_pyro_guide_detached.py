# engine: torch
# needs: pyro
# cause: the guide detaches the location, which never gets a gradient
# line: pyro.sample("w", dist.Normal(loc.detach(), scale))
# must: detach
# must: loc
# never: learning rate|vanishes|diverges
import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.optim import Adam
from torch.distributions import constraints

pyro.set_rng_seed(0)
x = torch.randn(30)
y = 2 * x + 0.1 * torch.randn(30)


def model():
    w = pyro.sample("w", dist.Normal(0.0, 3.0))
    with pyro.plate("data", 30):
        pyro.sample("y", dist.Normal(w * x, 0.5), obs=y)


def guide():
    loc = pyro.param("loc", torch.tensor(0.0))
    scale = pyro.param("scale", torch.tensor(1.0), constraint=constraints.positive)
    pyro.sample("w", dist.Normal(loc.detach(), scale))


svi = SVI(model, guide, Adam({"lr": 0.05}), Trace_ELBO())
for step in range(3):
    svi.step()
