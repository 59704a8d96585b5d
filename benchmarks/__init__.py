"""gradtrace beside its peers: `python -m benchmarks [JOB ...]`. See README.md here."""
