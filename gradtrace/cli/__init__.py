"""The command line: wiring, options, exit codes. No logic of its own beyond that."""
