"""How much a confined process has written below a folder: the parent's measure.

The kernel limits a single file (RLIMIT_FSIZE) but not their sum, so the parent adds up the folder.
A process can write only below the folders that Landlock leaves it, and a file that has lost its
name there is still found by the process's descriptors and mappings, so nothing that takes up space
is missed.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself loads enum
import os
import time

from gradtrace.annotations import Iterator

# A file or folder counts as at least this many bytes, since an empty one takes up an inode.
SMALLEST = 4096
PAUSE = 10  # the pause after a walk through the folder, in durations of the walk
DELETED = " (deleted)"
COUNTERS = (b"wchar:", b"write_bytes:")  # of /proc/PID/io


class Growth:
    """The growth of a folder since this object was created.

    `most` is the number of bytes that it may grow by, `largest` the size of the largest file that
    the kernel allows (0: without a limit). Growth by other processes counts too.
    """

    def __init__(self, folder: str, most: int, largest: int) -> None:
        self.folder = os.path.realpath(folder)
        self.most = most
        self.largest = largest
        self.size = 0
        self.written = 0
        self.next_walk = 0.0
        self.initial = self.walked(most)

    def is_over(self, pid: int, *, at_end: bool = False) -> bool:
        """Whether the folder has grown by more than `most` bytes; `pid` is the process that may
        write there.

        The folder is walked through only if the pause since the last walk is over, or if the
        process has written enough to exceed `most`.
        """
        written = bytes_written(pid)
        may_be_over = self.size + written - self.written > self.most and not at_end
        if not (at_end or may_be_over or time.monotonic() >= self.next_walk):
            return self.size > self.most
        if may_be_over:  # it could write much more while the folder is walked through
            os.kill(pid, _signal.SIGSTOP)
        try:
            start = time.monotonic()
            self.written = written
            self.size = self.walked(self.initial + self.most) - self.initial + self.unnamed(pid)
            end = time.monotonic()
            self.next_walk = end + PAUSE * (end - start)
        finally:
            if may_be_over:
                os.kill(pid, _signal.SIGCONT)
        return self.size > self.most

    def walked(self, most: int) -> int:
        """Return the bytes of all files below the folder.

        A folder that cannot be read because a path is too long, or that is not readable to its
        owner, counts as if it were larger than allowed: only hostile programs make those.
        """
        total = 0
        pending = [self.folder]
        while pending and (total <= most or not self.next_walk):
            try:
                with os.scandir(pending.pop()) as entries:
                    for entry in entries:
                        total += size_of_entry(entry)
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
            except FileNotFoundError:  # removed or renamed since its parent was read
                continue
            except OSError:
                total += self.most + 1
        return total

    def unnamed(self, pid: int) -> int:
        """Return the bytes of files below the folder that have no name any more but are still in
        use.

        The size of a file that is only mapped cannot be seen: it counts as the largest possible
        one.
        """
        sizes = dict(self.mapped(pid))
        sizes.update(self.opened(pid))
        return sum(sizes.values())

    def opened(self, pid: int) -> Iterator[tuple[int, int]]:
        """Yield the inode and size of each nameless file that the process has open."""
        descriptors = f"/proc/{pid}/fd"
        try:
            names = os.listdir(descriptors)
        except OSError:
            return
        for name in names:
            path = f"{descriptors}/{name}"
            try:
                if self.holds(os.readlink(path)):
                    status = os.stat(path)
                    yield status.st_ino, size_of(status)
            except OSError:
                continue

    def mapped(self, pid: int) -> Iterator[tuple[int, int]]:
        """Yield the inode of each nameless file that the process has mapped, and the largest size
        it may have.
        """
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
                for line in file:
                    if line.endswith(DELETED + "\n"):
                        # addresses, modes, offset, device, inode, path
                        fields = line.rstrip("\n").split(maxsplit=5)
                        if self.holds(fields[5]):
                            yield int(fields[4]), self.largest or self.most + 1
        except OSError:
            return

    def holds(self, path: str) -> bool:
        return path.endswith(DELETED) and path.startswith(self.folder.replace("\n", "\\012") + "/")


def size_of_entry(entry: os.DirEntry[str]) -> int:
    """Return the size of a file or folder; 0 if it was removed or renamed since its folder was
    read.
    """
    try:
        return size_of(entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return 0


def size_of(status: os.stat_result) -> int:
    return max(status.st_size, 512 * status.st_blocks, SMALLEST)


def bytes_written(pid: int) -> int:
    """Return how many bytes a process has written, also to pipes and mapped files; 0 without such a
    count.
    """
    try:
        with open(f"/proc/{pid}/io", "rb") as file:
            counts = [int(count) for name, count in map(bytes.split, file) if name in COUNTERS]
    except (OSError, ValueError):
        return 0
    return sum(counts)
