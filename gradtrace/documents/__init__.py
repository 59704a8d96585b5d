"""Documents with code as cells: notebooks, Markdown, scripts; and today's output of a cell against
the recorded one.
"""
