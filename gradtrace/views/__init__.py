"""Views: a Trace, or facts about it, as tables, JSON, CSV, DOT or images. The package imports no
large library itself.
"""
