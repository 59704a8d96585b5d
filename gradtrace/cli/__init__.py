"""The command line: commands, options, exit codes and error reports; the other packages do the
work.
"""
