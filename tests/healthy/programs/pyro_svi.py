import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.optim import Adam

pyro.clear_param_store()
pyro.set_rng_seed(0)
x = torch.randn(20)
y = 2 * x + 1 + 0.1 * torch.randn(20)


def model(x, y):
    w = pyro.sample("w", dist.Normal(0.0, 1.0))
    b = pyro.sample("b", dist.Normal(0.0, 1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(w * x + b, 0.5), obs=y)


def guide(x, y):
    w_loc = pyro.param("w_loc", torch.tensor(0.0))
    w_scale = pyro.param("w_scale", torch.tensor(0.5), constraint=dist.constraints.positive)
    b_loc = pyro.param("b_loc", torch.tensor(0.0))
    pyro.sample("w", dist.Normal(w_loc, w_scale))
    pyro.sample("b", dist.Normal(b_loc, 0.1))


svi = SVI(model, guide, Adam({"lr": 0.05}), Trace_ELBO())
for step in range(3):
    loss = svi.step(x, y)
