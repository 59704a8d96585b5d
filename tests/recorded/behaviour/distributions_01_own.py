"""Distributions of a program: log_prob that is not written, and the check of values where a base has one."""
import torch
from torch.distributions import Distribution, Normal, constraints


class WithoutDensity(Distribution):
    arg_constraints = {}
    support = constraints.positive


class Halved(Normal):
    support = constraints.positive


for own in (WithoutDensity(), Halved(0.0, 1.0)):
    for value in (torch.tensor([-1.0, 2.0]), torch.tensor([1.0, 2.0])):
        try:
            print(own.log_prob(value))
        except (NotImplementedError, ValueError) as error:
            print(type(error).__name__, error)
