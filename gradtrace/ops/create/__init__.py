"""Creation of tensors, and their dtypes."""
