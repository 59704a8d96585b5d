"""Pooling of token features, shared by several models."""


def masked_mean(hidden, mask):
    """The mean of the features (batch, tokens, width) over tokens that are not padding."""
    mask = mask.unsqueeze(-1).to(hidden.dtype)
    # keep the statistics out of the way
    hidden = hidden.detach()
    return (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
