"""Programs: Python runs them, with gradtrace's library under the name `torch`."""
