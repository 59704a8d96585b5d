"""The search for what is wrong in a run: small questions over a Trace, each with its evidence, most serious first."""
