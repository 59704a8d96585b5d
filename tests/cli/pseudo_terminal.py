"""A command line at a terminal of its own."""

import os
import pty
import select
import sys
import time


class Terminal:
    """A gradtrace command on a pseudo-terminal: `say` types a line, `until` waits for a text.

    `until` types `again` after each second of silence: readline misses a Ctrl-C that comes while it handles a key.
    """

    def __init__(self, *args, env):
        pid, self.fd = pty.fork()
        if not pid:
            os.execve(sys.executable, [sys.executable, "-m", "gradtrace", *args], env)
        self.pid, self.seen = pid, ""

    def say(self, text):
        os.write(self.fd, text.encode())

    def until(self, text, again=""):
        deadline = time.monotonic() + 60
        start = len(self.seen)
        while text not in self.seen[start:]:
            assert time.monotonic() < deadline, self.seen
            if not select.select([self.fd], [], [], 1)[0]:
                self.say(again)
            else:
                try:
                    found = os.read(self.fd, 4096).decode()
                except OSError:
                    found = ""
                if not found:
                    break
                self.seen += found
        return self.seen[start:]

    def end(self):
        self.until("\0")  # to the end of its output
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)
