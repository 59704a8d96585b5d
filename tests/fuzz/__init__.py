"""Random input for what reads a stranger's text and bytes, by mutation of what there is: `python -m tests.fuzz`.

__main__   the command line: chunks of executions, each in a process of its own
drive      one chunk: makes inputs, runs them, tells what none of our errors is (a crash), hangs, grows
mutate     changes of texts and bytes
programs   random programs, put together from the statements and expressions of the tests' programs
targets    what is tried: a name, a maker of inputs, and what is done with one
"""
