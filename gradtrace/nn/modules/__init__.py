"""The layers, one file per family; the names are served by `gradtrace.nn`."""
