"""The command line with plain Python in the place of the language, and without the audit hook: the kernel holds."""

import unguarded  # noqa: F401

from gradtrace.lang import wall

wall.build = lambda: None
