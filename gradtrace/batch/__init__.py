"""Map a program over the rows of a table: readers, writers, and the loop that executes a plan on
chunks of rows.
"""
