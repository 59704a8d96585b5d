"""The command line with attacks in the place of a built-in function.

`python escaped.py run FILE`: in it the program's `abs("attempts")` makes every attempt of ATTEMPTS, and
`abs("forge N")` sends the broker forged messages. Each attempt writes a line on stderr: its name, and `refused` or
`DONE`.
"""

import builtins
import contextlib
import ctypes
import fcntl
import glob
import io
import mmap
import multiprocessing
import os
import pathlib
import platform
import pty
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import gradtrace
from gradtrace.cli import main

HALVES = b"canary-of-the-env", b"ironment-2284"  # never joined: `in_memory` would find that
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # system calls by name: on x86-64, on aarch64
    "clone": (56, 220), "clone3": (435, 435), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "tgkill": (234, 131), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "io_uring_setup": (425, 425), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "mount": (165, 40), "umount2": (166, 39),
    "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41), "memfd_create": (319, 279),
    "add_key": (248, 217), "keyctl": (250, 219), "request_key": (249, 218), "init_module": (175, 105),
    "finit_module": (313, 273), "kexec_load": (246, 104), "reboot": (169, 142), "swapon": (167, 224),
    "sethostname": (170, 161), "settimeofday": (164, 170), "shmget": (29, 194), "mq_open": (240, 180),
    "inotify_init1": (294, 26), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "personality": (135, 92), "acct": (163, 89), "execveat": (322, 281), "openat2": (437, 437), "kcmp": (312, 272),
    "process_madvise": (440, 440), "migrate_pages": (256, 238), "setxattr": (188, 5), "fsetxattr": (190, 7),
    "io_setup": (206, 0), "fanotify_init": (300, 262), "mknodat": (259, 33), "linkat": (265, 37),
    "renameat2": (316, 276), "truncate": (76, 45), "fchmodat2": (452, 452), "socketpair": (53, 199),
    "tee": (276, 77), "vmsplice": (278, 75),
}  # fmt: skip


def call(name, *arguments):
    number = NUMBERS[name][platform.machine() == "aarch64"]
    result = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def started(*command):
    return subprocess.run(command, check=True)


def truncate(descriptor):
    """Truncate a file; a pipe, which cannot be truncated, counts as a refusal."""
    try:
        os.ftruncate(descriptor, 0)
    except OSError as error:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        raise PermissionError(1, "a pipe") if is_pipe else error from None


def in_place_of_scratch():
    """Put stdout in the place of the nameless file."""
    from gradtrace.sandbox import scratch

    with contextlib.suppress(OSError):
        os.close(scratch.descriptor())
    os.dup2(1, scratch.descriptor())
    truncate(scratch.descriptor())


def forked(pid):
    if pid == 0:
        os._exit(0)
    return pid


def c_open(path, mode):
    LIBC.fopen.restype = ctypes.c_void_p
    if not LIBC.fopen(path, mode):
        raise OSError("fopen")


def c_call(name, *arguments):
    if getattr(LIBC, name)(*arguments) in (-1, 127, 32512):
        raise OSError(name)


def in_memory():
    """Search all memory near Python's objects for the canary; pages that are not there are skipped."""
    reading, writing = os.pipe()
    places = sorted(
        {
            id(o) >> 20
            for o in (object(), [], {}, b"12345", "text", 1 << 40, sys, os.environ, *sys.modules)
        }
    )
    environ = ctypes.POINTER(ctypes.c_void_p).in_dll(LIBC, "environ")
    stack = ctypes.addressof(ctypes.c_int()) >> 20
    heap = ctypes.cast(LIBC.malloc(64), ctypes.c_void_p).value or 0
    first = environ[0] if environ else None
    wanted = {*places, stack, heap >> 20, (first or 0) >> 20}
    for base in sorted(
        {near for place in wanted for near in range(place - 2, place + 3) if near > 0}
    ):
        for page in range(base << 20, (base + 1) << 20, 4096):
            if LIBC.write(writing, ctypes.c_void_p(page), ctypes.c_size_t(4096)) == 4096:
                content = os.read(reading, 4096)
                half = content.find(HALVES[0])
                while half >= 0:
                    if content.startswith(HALVES[1], half + len(HALVES[0])):
                        return page
                    half = content.find(HALVES[0], half + 1)
    raise OSError("not found")


def found(value):
    if not value:
        raise OSError("nothing there")
    return value


def at_parent(make):
    return lambda: make(os.getppid())


OWN = gradtrace.__file__
KERNEL = """io_uring_setup bpf perf_event_open userfaultfd mount umount2 unshare setns chroot pivot_root
    memfd_create add_key keyctl request_key init_module finit_module kexec_load reboot swapon sethostname
    settimeofday shmget mq_open inotify_init1 open_by_handle_at acct process_madvise migrate_pages
    fsetxattr io_setup fanotify_init"""
ATTEMPTS = {
    # writing
    "open w": lambda: open("made", "w"),
    "open a": lambda: open("secret.txt", "a"),
    "open r+": lambda: open("secret.txt", "r+b"),
    "open x": lambda: open("made", "x"),
    "os.open creat": lambda: os.open("made", os.O_CREAT | os.O_WRONLY),
    "os.open tmpfile": lambda: os.open(".", os.O_TMPFILE | os.O_RDWR),
    "os.open rdwr program": lambda: os.open("p.py", os.O_RDWR),
    "os.open trunc program": lambda: os.open("p.py", os.O_TRUNC),
    "fopen w": lambda: c_open(b"made", b"w"),
    "truncate": lambda: os.truncate("secret.txt", 0),
    "truncate call": lambda: call("truncate", b"p.py", 0),
    "remove": lambda: os.remove("secret.txt"),
    "unlink program": lambda: os.unlink("p.py"),
    "rename": lambda: os.rename("secret.txt", "made"),
    "rename exchange": lambda: call("renameat2", -100, b"secret.txt", -100, b"other.py", 2),
    "replace": lambda: os.replace("other.py", "secret.txt"),
    "hard link": lambda: os.link("secret.txt", "made"),
    "hard link call": lambda: call("linkat", -100, b"secret.txt", -100, b"made", 0),
    "symbolic link": lambda: os.symlink("secret.txt", "made"),
    "fifo": lambda: os.mkfifo("made"),
    "device": lambda: os.mknod("made"),
    "device call": lambda: call("mknodat", -100, b"made", 0o100644, 0),
    "mkdir": lambda: os.mkdir("made"),
    "makedirs": lambda: os.makedirs("made/in"),
    "rmdir": lambda: os.rmdir("out"),
    "rmtree": lambda: shutil.rmtree("out"),
    "chmod": lambda: os.chmod("secret.txt", 0o777),
    "fchmod": lambda: os.fchmod(0, 0o777),
    "fchmodat2": lambda: call("fchmodat2", -100, b"secret.txt", 0o777, 0),
    "chown": lambda: os.chown("secret.txt", 12345, 12345),
    "utime": lambda: os.utime("secret.txt", (1, 1)),
    "setxattr": lambda: os.setxattr("secret.txt", "user.mark", b"x"),
    "numpy tofile": lambda: np.ones(2).tofile("made"),
    "numpy save": lambda: np.save("made", np.ones(2)),
    "own package": lambda: open(OWN, "a"),
    "own package r+": lambda: open(OWN, "r+b"),
    "bytecode": lambda: open(os.path.join(os.path.dirname(OWN), "__pycache__", "made.pyc"), "wb"),
    "temporary file": lambda: tempfile.mkstemp(dir="/tmp"),
    "home": lambda: open(os.path.expanduser("~/made-by-gradtrace"), "w"),
    "terminal": lambda: open("/dev/tty", "w"),
    "parent's memory": at_parent(lambda pid: open(f"/proc/{pid}/mem", "r+b")),
    "own memory file": lambda: open("/proc/self/mem", "r+b"),
    # reading
    "read": lambda: open("secret.txt").read(),
    "os.open": lambda: os.open("secret.txt", os.O_RDONLY),
    "FileIO": lambda: io.FileIO("secret.txt"),
    "pathlib": lambda: pathlib.Path("secret.txt").read_text(),
    "fopen": lambda: c_open(b"secret.txt", b"r"),
    "fromfile": lambda: np.fromfile("secret.txt", np.uint8),
    "memmap": lambda: np.memmap("secret.txt"),
    "openat2": lambda: call("openat2", -100, b"secret.txt", struct.pack("QQQ", 0, 0, 0), 24),
    "by handle": lambda: call("name_to_handle_at", -100, b"secret.txt", bytes(128), bytes(8), 0),
    "listdir": lambda: os.listdir("."),
    "scandir": lambda: list(os.scandir("..")),
    "glob": lambda: found(glob.glob("*.txt")),
    "passwords": lambda: open("/etc/passwd").read(),
    "shadow": lambda: open("/etc/shadow").read(),
    "ssh": lambda: os.listdir(os.path.expanduser("~")),
    "other processes": lambda: os.listdir("/proc"),
    "parent's descriptor": at_parent(lambda pid: os.open(f"/proc/{pid}/fd/0", os.O_RDONLY)),
    # the environment
    "os.environ": lambda: found("CANARY" in os.environ),
    "posix.environ": lambda: found(b"CANARY" in sys.modules["posix"].environ),
    "getenv": lambda: found(LIBC.getenv(b"CANARY")),
    "/proc/self/environ": lambda: open("/proc/self/environ", "rb").read(),
    "parent's environ": at_parent(lambda pid: open(f"/proc/{pid}/environ", "rb").read()),
    "memory": in_memory,
    # programs and processes
    "system": lambda: found(os.system("touch made") == 0),
    "popen": lambda: found(os.popen("cat secret.txt").read()),
    "subprocess": lambda: started("touch", "made"),
    "execv": lambda: os.execv("/bin/sh", ["sh", "-c", "touch made"]),
    "execve": lambda: os.execve(sys.executable, ["python"], {}),
    "execveat": lambda: call("execveat", -100, b"/bin/sh", None, None, 0),
    "posix_spawn": lambda: os.posix_spawn("/bin/touch", ["touch", "made"], {}),
    "fork": lambda: forked(os.fork()),
    "vfork": lambda: c_call("fork"),
    "forkpty": lambda: forked(pty.fork()[0]),
    "clone": lambda: forked(call("clone", 17, 0, 0, 0, 0)),
    "clone3": lambda: forked(call("clone3", bytes(32) + struct.pack("Q", 17) + bytes(24), 64)),
    "multiprocessing": lambda: multiprocessing.Process(target=print).start(),
    "C system": lambda: c_call("system", b"touch made"),
    # sockets
    "tcp": lambda: socket.create_connection(("127.0.0.1", 9), 1),
    "tcp server": lambda: socket.create_server(("127.0.0.1", 0)),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
    "unix": lambda: socket.socket(socket.AF_UNIX).connect("/run/any"),
    "abstract": lambda: socket.socket(socket.AF_UNIX).bind("\0gradtrace"),
    "netlink": lambda: socket.socket(16, socket.SOCK_RAW, 0),
    "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "socketpair": lambda: call("socketpair", 1, 1, 0, bytes(8)),
    # signals and other processes
    "kill parent": at_parent(lambda pid: os.kill(pid, 0)),
    "kill all": lambda: os.kill(-1, 0),
    "kill group": lambda: os.killpg(os.getpgrp(), 0),
    "tgkill parent": at_parent(lambda pid: call("tgkill", pid, pid, 0)),
    "tkill parent": at_parent(lambda pid: call("tkill", pid, 0)),
    "queued signal": at_parent(lambda pid: call("rt_sigqueueinfo", pid, 0, bytes(128))),
    "pidfd": at_parent(lambda pid: call("pidfd_open", pid, 0)),
    "descriptor of another": lambda: call("pidfd_getfd", 0, 0, 0),
    "ptrace": at_parent(lambda pid: call("ptrace", 16, pid, 0, 0)),
    "ptrace me": lambda: call("ptrace", 0, 0, 0, 0),
    "read another's memory": at_parent(lambda pid: call("process_vm_readv", pid, bytes(16), 0, bytes(16), 0, 0)),
    "write another's memory": at_parent(lambda pid: call("process_vm_writev", pid, bytes(16), 0, bytes(16), 0, 0)),
    "limits of another": at_parent(lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU, (9, 9))),
    "priority of another": at_parent(lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 5)),
    "processors of another": at_parent(lambda pid: os.sched_setaffinity(pid, {0})),
    "compare with another": at_parent(lambda pid: call("kcmp", pid, pid, 0, 0, 0)),
    "session": os.setsid,
    "own memory limit": lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 60, 1 << 60)),
    "truncate stdout": lambda: truncate(1),
    "truncate a copy of stdout": lambda: truncate(os.dup(1)),
    "truncate stdout in another's place": in_place_of_scratch,
    "punch a hole": lambda: os.posix_fallocate(1, 0, 1),
    "drop append": lambda: fcntl.fcntl(1, fcntl.F_SETFL, 0),
    "send a file": lambda: os.sendfile(1, os.open(OWN, os.O_RDONLY), 0, 9),
    "splice": lambda: os.splice(os.open(OWN, os.O_RDONLY), 1, 9),
    "copy a range": lambda: os.copy_file_range(os.open(OWN, os.O_RDONLY), 1, 9),
    "tee": lambda: call("tee", 1, 2, 9, 0),
    "vmsplice": lambda: call("vmsplice", 1, struct.pack("PN", 0, 0), 1, 0),
    "own limits": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30)),
    "signal by descriptor": lambda: fcntl.fcntl(0, 8, os.getppid()),
    "type into the terminal": lambda: fcntl.ioctl(0, 0x5412, b"x"),
    # the kernel
    **{
        name: (lambda name=name: call(name, 0, 0, 0, 0, 0))
        for name in KERNEL.split()
    },
    "personality": lambda: call("personality", 0x0040000),
    "setuid": lambda: os.setuid(12345),
    "chdir root": lambda: os.chroot("/"),
}  # fmt: skip
# What a kernel answers to a call that it refuses, or does not have; anything else may mean that it looked at it.
REFUSED = {1: "EPERM", 13: "EACCES", 38: "ENOSYS"}


HARMLESS = """read|os.open|FileIO|pathlib|fopen|fromfile|memmap|listdir|scandir|glob|passwords|ssh|other processes
    |os.environ|posix.environ|getenv|/proc/self/environ|memory|popen|subprocess|fork|vfork|clone|udp|tcp server
    |kill parent|kill group|pidfd|socketpair|inotify_init1|os.open tmpfile"""


def attempts(names=ATTEMPTS) -> None:
    lines = []
    for name in names:
        attempt = ATTEMPTS[name]
        try:
            attempt()
        except OSError as error:
            told = error.errno is None or error.errno in REFUSED
            lines.append(f"{name}: refused" if told else f"{name}: looked at ({error})")
        except (ValueError, RuntimeError) as error:
            lines.append(f"{name}: refused ({error})")
        except BaseException as error:
            lines.append(f"{name}: refused ({type(error).__name__})")
        else:
            lines.append(f"{name}: DONE")
    os.write(2, "".join(f"attempt {line}\n" for line in lines).encode())


FORGED = {
    "garbage": b"\xff" * 64,
    "a pickle": b"cos\nsystem\n(S'touch made'\ntR." * 4,
    "an answer": b"!" + (12).to_bytes(8, "little") + b'{"ok": true}',
    "a long frame": b"?" + (1 << 60).to_bytes(8, "little"),
    "no request": b"?" + (2).to_bytes(8, "little") + b"{}",
    "no JSON": b"?" + (4).to_bytes(8, "little") + b"[[[[",
    "deep JSON": b"?" + (200_000).to_bytes(8, "little") + b"[" * 200_000,
    **{
        str(word): b"?"
        + len(text := str(word).replace("'", '"')).to_bytes(8, "little")
        + text.encode()
        for word in (
            {"ask": "write", "output": 7},
            {"ask": "write", "output": "made"},
            {"ask": "write", "output": -1},
            {"ask": "write", "path": "made"},
            {"ask": "open", "output": 0},
            {"ask": "part", "first": "../made", "kind": "csv"},
            {"ask": "part", "first": 0, "kind": "csv"},
            {"ask": "prepare", "facts": {}, "resume": 0},
            {"ask": "finish", "rows": 1},
            {"ask": "render", "format": "../made", "dpi": 1, "time_limit": 1},
            {"ask": "film", "width": -1, "height": 1},
            {"ask": "figures", "seconds": "x", "most": 0},
            {"ask": "torch"},
            {"ask": "cluster"},
            {"ask": "command", "words": ["eval", "1", "--get", "y"]},
            {"ask": "entry", "names": 3},
            {"ask": "__class__"},
            {"ask": ["write"]},
        )
    },
}


def forge(number: int) -> None:
    """Write a forged message on every descriptor but 0, 1 and 2."""
    for descriptor in range(3, 64):
        rest = list(FORGED.values())[number]
        with contextlib.suppress(OSError):
            while rest:  # an alarm cuts a long write short
                rest = rest[os.write(descriptor, rest) :]
    os.write(2, b"forged\n")
    threading.Event().wait(20)


def forge_file() -> None:
    """Ask for the output that the command line names, and send what is not of its kind."""
    from gradtrace.sandbox import channel

    channel.ask("write", output=0)
    channel.send_data(b"#!/bin/sh\ntouch made\n")
    channel.send_word(channel.END, {})
    channel.answer()


def with_lock() -> tuple[int, ctypes.PyDLL]:
    """Keep Python's lock from now on, so that no other thread and no signal ends this one; return what is needed to
    write to the broker.
    """
    from gradtrace.sandbox import channel

    sys.setswitchinterval(1e6)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    return channel.opened().outgoing, ctypes.PyDLL(None)


def trickle() -> None:
    """Send the broker a long frame, so slowly that it is never whole and never silent."""
    descriptor, library = with_lock()
    library.write(descriptor, b"?" + (1 << 20).to_bytes(8, "little"), 9)
    for _ in range(6000):
        library.write(descriptor, b" ", 1)
        library.usleep(10_000)


def ask_deaf() -> None:
    """Ask the broker again and again without reading an answer."""
    descriptor, library = with_lock()
    word = b'{"ask": "tensorboards"}'
    frame = b"?" + len(word).to_bytes(8, "little") + word
    while True:
        library.write(descriptor, frame, len(frame))


def start_threads() -> None:
    threading.stack_size(65536)
    for _ in range(5000):
        threading.Thread(target=threading.Event().wait, args=(20,), daemon=True).start()
    threading.Event().wait(20)


def fill_scratch() -> None:
    from gradtrace.sandbox import scratch

    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        raise SystemExit("the limit on files was lifted")
    os.lseek(scratch.descriptor(), 1 << 30, os.SEEK_SET)
    with contextlib.suppress(OSError):
        os.write(scratch.descriptor(), b"x")
        raise SystemExit("the file has 1 GB")
    os.lseek(scratch.descriptor(), 256 << 20, os.SEEK_SET)
    os.write(scratch.descriptor(), b"x")
    threading.Event().wait(20)


def flood(descriptor: int) -> None:
    """Write 734 MB."""
    for _ in range(734):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"x" * 1_000_000)
    threading.Event().wait(20)


def reopened(descriptor: int, mode: int) -> int:
    return os.open(f"/proc/self/fd/{descriptor}", mode)


def overwrite() -> None:
    """Do to each standard stream whatever could change what its file held before, and read stdin."""
    for descriptor in (0, 1, 2):
        for attempt in (
            lambda at=descriptor: os.pwrite(at, b"OVER", 0),
            lambda at=descriptor: os.pwritev(at, [b"OVER"], 0),
            lambda at=descriptor: (
                fcntl.fcntl(at, fcntl.F_SETFL, 0),
                os.lseek(at, 0, 0),
                os.write(at, b"OVER"),
            ),
            lambda at=descriptor: (os.lseek(at, 0, 0), os.write(at, b"seek\n")),
            lambda at=descriptor: os.ftruncate(at, 0),
            lambda at=descriptor: os.ftruncate(os.dup(at), 1),
            lambda at=descriptor: os.pwrite(reopened(at, os.O_WRONLY), b"OVER", 0),
            lambda at=descriptor: os.write(reopened(at, os.O_WRONLY), b"reopened\n"),
            lambda at=descriptor: os.ftruncate(reopened(at, os.O_RDWR), 0),
            lambda at=descriptor: reopened(at, os.O_WRONLY | os.O_TRUNC),
            lambda at=descriptor: os.sendfile(at, os.open(OWN, os.O_RDONLY), 0, 9),
            lambda at=descriptor: os.splice(os.open(OWN, os.O_RDONLY), at, 9, offset_dst=0),
            lambda at=descriptor: os.copy_file_range(
                os.open(OWN, os.O_RDONLY), at, 9, offset_dst=0
            ),
            lambda at=descriptor: mmap.mmap(at, 4).write(b"OVER"),
            lambda at=descriptor: os.posix_fallocate(at, 0, 1 << 20),
        ):
            with contextlib.suppress(OSError, ValueError):
                attempt()
    with contextlib.suppress(OSError):
        os.write(2, b"read from stdin: " + os.pread(0, 99, 0) + b"\n")
    with contextlib.suppress(OSError):
        os.write(2, b"read from stdin: " + os.read(0, 99) + b"\n")
    os.write(2, b"tried everything\n")


def show_page() -> None:
    """Write the output that the command line names, and ask for a browser, which it does not name."""
    from gradtrace.sandbox import channel

    channel.ask("write", output=0)
    channel.send_data(b"<!DOCTYPE html>\n")
    channel.send_word(channel.END, {})
    channel.answer()
    channel.ask("open", output=0)


def native(value):
    """The function that programs call."""
    if value == "attempts":
        attempts()
    elif value == "harmless":
        attempts([name.strip() for name in HARMLESS.split("|")])
    elif value == "forge file":
        forge_file()
    elif value in ("trickle", "deaf", "show"):
        {"trickle": trickle, "deaf": ask_deaf, "show": show_page}[value]()
    elif value in ("hang", "close"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        _, library = with_lock()  # no other thread of this process runs, no signal is handled
        for descriptor in range(3, 64) if value == "close" else ():
            library.close(descriptor)
        library.sleep(60)
    elif value == "threads":
        start_threads()
    elif value == "scratch":
        fill_scratch()
    elif value == "overwrite":
        overwrite()
    elif isinstance(value, str) and value.startswith("flood"):
        flood(int(value.split()[1]))
    elif value == "memory":
        kept = []  # shared memory, which no limit on the process's own data counts
        while True:
            kept.append(mmap.mmap(-1, 1 << 24))
            kept[-1].write(b"x" * (1 << 24))
    elif isinstance(value, str):
        forge(int(value.split()[1]))
    else:
        return guarded(value)
    return 1.0


guarded = abs
builtins.abs = native

if __name__ == "__main__":
    main.main()
