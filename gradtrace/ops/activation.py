"""To be filled by its author."""
