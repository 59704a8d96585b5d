# raise ... from None, at the top
raise ValueError("x") from None
