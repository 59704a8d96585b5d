"""The public names of torch.autograd.functional, for `from gradtrace.autograd.functional import jacobian`."""

from gradtrace.func.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
