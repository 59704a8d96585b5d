"""How much work Python code does, in a number that is the same in every run: the bytecode instructions executed."""

import sys


def instructions(work):
    """Return how many bytecode instructions of gradtrace's own modules `work()` executes.

    What runs in C (sorting, copying, numpy) is not counted.
    """
    count = 0

    def traced(frame, event, argument):
        nonlocal count
        if event == "opcode":
            count += 1
        return traced

    def called(frame, event, argument):
        if not frame.f_globals.get("__name__", "").startswith("gradtrace"):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return traced

    before = sys.gettrace()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
