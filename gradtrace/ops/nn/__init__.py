"""The operators of torch.nn.functional."""
