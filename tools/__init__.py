"""Programs for developers, which write what is generated from the sources."""
