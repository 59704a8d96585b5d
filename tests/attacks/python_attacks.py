"""Attacks as plain Python programs: what a stranger would try who knows that Python itself runs the program.

`ATTACKS` has a text for each name. A text is run as a program in the yard (`canaries.py`), after PRELUDE. It has failed
if it raises one of REFUSED; one that ends without an exception has done what it tried. PORT is the port that nobody may
reach, PROGRAM the path of the program. `program_of` makes one program of many attacks, which reports each of them on
stderr. `FATAL` are programs that must be ended from outside, each with the line that says so; `FORGED` are messages to
the broker. The families READING and SYSTEM_CALLS are made of all combinations.
"""

from __future__ import annotations

import re

from gradtrace.sandbox import system_calls

PRELUDE = """
import ctypes, errno, fcntl, glob, io, mmap, os, pathlib, resource, shutil, signal, socket, stat, struct, subprocess
import sys, tempfile, threading, time
from _io import open  # a run that is only tried replaces the built-in one
LIBC = ctypes.CDLL(None, use_errno=True)
TEMPORARY = tempfile.gettempdir()

def call(number, *arguments):
    values = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *values)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def c(name, *arguments):
    function = getattr(LIBC, name)
    function.restype = ctypes.c_long
    result = function(*arguments)
    if result in (-1, 0, 0xFFFFFFFF, 32512):
        raise PermissionError(ctypes.get_errno(), name)
    return result

def nonempty(value):
    if not value:
        raise PermissionError(1, "nothing there")
    return value
"""

# ---- files: each way to read, on each path

WAYS = {
    "open": "open(TARGET, 'rb').read(9)",
    "os.open": "os.read(os.open(TARGET, os.O_RDONLY), 9)",
    "path descriptor": "os.read(os.open('/proc/self/fd/' + str(os.open(TARGET, os.O_PATH)), os.O_RDONLY), 9)",
    "FileIO": "io.FileIO(TARGET).read(9)",
    "pathlib": "pathlib.Path(TARGET).read_bytes()",
    "fopen": "c('fopen', TARGET.encode(), b'rb')",
    "system call open": "call(2, TARGET.encode(), 0)",
    "system call openat": "call(257, -100, TARGET.encode(), 0)",
    "system call openat2": "call(437, -100, TARGET.encode(), 0, 24)",
    "mmap": "mmap.mmap(os.open(TARGET, os.O_RDONLY), 1, access=mmap.ACCESS_READ)[:]",
    "fromfile": "__import__('numpy').fromfile(TARGET, 'u1', 9)",
    "memmap": "__import__('numpy').memmap(TARGET, 'u1', 'r')",
    "copy": "shutil.copyfile(TARGET, TEMPORARY + '/copy')",
    "link and read": "os.link(TARGET, TEMPORARY + '/linked'); open(TEMPORARY + '/linked').read()",
    "symbolic link and read": "os.symlink(os.path.abspath(TARGET), TEMPORARY + '/s'); open(TEMPORARY + '/s').read()",
    "rename and read": "os.rename(TARGET, TEMPORARY + '/moved'); open(TEMPORARY + '/moved').read()",
    "send": "os.sendfile(1, os.open(TARGET, os.O_RDONLY), 0, 9)",
    "imported": "__import__('importlib.machinery').machinery.SourceFileLoader('m', TARGET).get_data(TARGET)",
    "sqlite": "__import__('sqlite3').connect('file:' + TARGET + '?mode=ro', uri=True).execute('select 1 from a')",
    "linecache": "nonempty(__import__('linecache').getlines(TARGET))",
    "ctypes library": "ctypes.CDLL(os.path.abspath(TARGET))",
    "listing": "os.listdir(os.path.dirname(os.path.abspath(TARGET)))",
}
PATHS = (
    "secret.txt",
    "link/data.npy",
    "second.npy",
    "../elsewhere/data.npy",
    "/proc/self/cwd/secret.txt",
)
SYSTEM_PATHS = (
    "/etc/passwd", "/etc/shadow", "/root/.bashrc", "/proc/kmsg", "/proc/kcore", "/dev/mem", "/dev/kmsg", "/dev/sda",
    "/proc/1/environ", "/proc/1/mem", "/proc/self/environ", "/proc/self/mem", "/proc/self/maps", "/sys/kernel/notes",
    "/var/log/wtmp", "/dev/shm/x", "/dev/tty", "/dev/ptmx", "/dev/fuse", "/proc/sysrq-trigger",
)  # fmt: skip
READING = {
    f"read {path} by {way}": text.replace("TARGET", repr(path))
    for way, text in WAYS.items()
    for path in PATHS
}
READING |= {
    f"read {path} in its folder": f"os.chdir(os.path.dirname({path!r}) or '.'); open(os.path.basename({path!r})).read()"
    for path in PATHS[1:]
}
READING |= {f"read {path}": f"open({path!r}, 'rb').read(9)" for path in SYSTEM_PATHS}

WRITING = {
    "open w": "open('made', 'w')",
    "open a": "open('secret.txt', 'a')",
    "open r+": "open('secret.txt', 'r+b')",
    "open x": "open('made', 'x')",
    "create": "os.open('made', os.O_CREAT | os.O_WRONLY)",
    "truncate by open": "os.open('secret.txt', os.O_RDONLY | os.O_TRUNC)",
    "truncate by access mode 3": "os.open('secret.txt', 3 | os.O_TRUNC)",
    "truncate": "os.truncate('secret.txt', 0)",
    "nameless file here": "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "remove": "os.remove('secret.txt')",
    "rename here": "os.rename('secret.txt', 'made')",
    "rename from the temporary folder": "open(TEMPORARY + '/a', 'w').close(); os.rename(TEMPORARY + '/a', 'made')",
    "replace from the temporary folder": "open(TEMPORARY + '/a', 'w'); os.replace(TEMPORARY + '/a', 'secret.txt')",
    "exchange": "open(TEMPORARY + '/a', 'w'); call(316, -100, (TEMPORARY + '/a').encode(), -100, b'secret.txt', 2)",
    "whiteout": "open(TEMPORARY + '/a', 'w'); call(316, -100, (TEMPORARY + '/a').encode(), -100, b'made', 4)",
    "link here": "os.link('secret.txt', 'made')",
    "link of the temporary folder": "open(TEMPORARY + '/b', 'w'); os.link(TEMPORARY + '/b', 'made')",
    "nameless file with a name": "f = os.open(TEMPORARY, os.O_TMPFILE | os.O_RDWR); "
    "os.link(f'/proc/self/fd/{f}', 'made', follow_symlinks=True)",
    "symbolic link": "os.symlink('secret.txt', 'made')",
    "folder": "os.mkdir('made')",
    "remove a folder": "os.rmdir('out')",
    "remove the temporary folder": "shutil.rmtree(TEMPORARY + '/cache', True); os.rmdir(TEMPORARY)",
    "move the temporary folder": "os.rename(TEMPORARY, TEMPORARY + '-moved')",
    "file beside the temporary folder": "open(os.path.dirname(TEMPORARY) + '/gradtrace-made', 'w')",
    "pipe": "os.mkfifo('made')",
    "pipe in the temporary folder": "os.mkfifo(TEMPORARY + '/pipe')",
    "device": "os.mknod(TEMPORARY + '/device', stat.S_IFBLK | 0o666, os.makedev(8, 0))",
    "device of characters": "os.mknod(TEMPORARY + '/device', stat.S_IFCHR | 0o666, os.makedev(1, 1))",
    "socket file": "socket.socket(socket.AF_UNIX).bind(TEMPORARY + '/socket')",
    "setuid file": "os.open(TEMPORARY + '/s', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "setgid file by system call": "call(2, (TEMPORARY + '/s').encode(), os.O_CREAT | os.O_WRONLY, 0o2755)",
    "creat": "call(85, (TEMPORARY + '/c').encode(), 0o6777)",
    "owner": "os.chown('secret.txt', 12345, 12345)",
    "attribute": "os.setxattr('secret.txt', 'user.a', b'1')",
    "attribute of a temporary file": "open(TEMPORARY + '/x', 'w'); os.setxattr(TEMPORARY + '/x', 'user.a', b'1')",
    "flags": "fcntl.ioctl(os.open(PROGRAM, os.O_RDONLY), 0x40086602, struct.pack('l', 0x10))",
    "lock of the program": "fcntl.flock(os.open(PROGRAM, os.O_RDONLY), fcntl.LOCK_EX)",
    "lease": "fcntl.fcntl(os.open(PROGRAM, os.O_RDONLY), 1024, fcntl.F_WRLCK)",
    "allocate": "os.posix_fallocate(os.open(TEMPORARY + '/f', os.O_CREAT | os.O_RDWR), 0, 1 << 40)",
    "write the program": "os.open(PROGRAM, os.O_RDWR)",
    "write Python's library": "open(os.__file__, 'a')",
    "write the package": "open(sys.modules['gradtrace'].__file__, 'a')",
    "bytecode": "open(os.path.dirname(os.__file__) + '/__pycache__/made.pyc', 'wb')",
    "matplotlib's cache of the user": "open(os.path.expanduser('~/.cache/made'), 'w')",
    "profile": "open(os.path.expanduser('~/.bashrc'), 'a')",
    "shared memory file": "open('/dev/shm/gradtrace-made', 'w')",
    "sem_open": "c('sem_open', b'/gradtrace-made', 0o100, 0o600, 1)",
    "core pattern": "open('/proc/sys/kernel/core_pattern', 'w')",
    "core size": "resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))",
    "oom score": "open('/proc/self/oom_score_adj', 'w').write('-1000')",
    "user map": "open('/proc/self/uid_map', 'w')",
    "file size limit": "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 60, 1 << 60))",
    "memory limit": "resource.setrlimit(resource.RLIMIT_DATA, (1 << 60, 1 << 60))",
    "limit of open files": "resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))",
    "limits of the parent": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
}
PROCESSES = {
    "system": "nonempty(os.system('touch made') == 0)",
    "popen": "nonempty(os.popen('echo 1').read())",
    "subprocess": "subprocess.run(['touch', 'made'], check=True)",
    "shell": "subprocess.run('touch made', shell=True, check=True)",
    "Python": "subprocess.run([sys.executable, '-c', 'print(1)'], check=True)",
    "execv": "os.execv('/bin/sh', ['sh', '-c', 'touch made'])",
    "execve of Python": "os.execve(sys.executable, ['python', '-c', ''], {})",
    "execveat": "call(322, os.open('/', os.O_PATH), b'bin/true', 0, 0, 0)",
    "execute a temporary file": "open(TEMPORARY + '/e', 'w').write('#!/bin/sh'); os.execv(TEMPORARY + '/e', ['e'])",
    "memfd": "os.memfd_create('a')",
    "memfd by system call": "call(319, b'a', 0)",
    "secret memory": "call(447, 0)",
    "posix_spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "fork": "os.fork() or os._exit(0)",
    "vfork": "call(58) or os._exit(0)",
    "forkpty": "__import__('pty').fork()[0] or os._exit(0)",
    "clone": "call(56, 17, 0, 0, 0, 0) or os._exit(0)",
    "clone with a parent": "call(56, 0x8000 | 17, 0, 0, 0, 0) or os._exit(0)",
    "clone with a namespace": "call(56, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)",
    "clone3": "call(435, struct.pack('11Q', 0, 0, 0, 0, 17, *[0] * 6), 88) or os._exit(0)",
    "multiprocessing": "__import__('multiprocessing').Process(target=print).start()",
    "process pool": "__import__('concurrent.futures').futures.ProcessPoolExecutor(1).submit(print).result()",
    "session": "os.setsid()",
    "process group": "os.setpgid(0, 0)",
    "unshare": "call(272, 0x10000000)",
    "setns": "call(308, os.open('/proc/self', os.O_PATH), 0)",
    "chroot": "os.chroot('/')",
    "user": "os.setuid(12345)",
    "group": "os.setgid(12345)",
    "groups": "os.setgroups([0])",
    "capabilities": "call(126, struct.pack('Ii', 0x20080522, 0), struct.pack('6I', *[0xFFFFFFFF] * 6))",
    "personality": "call(135, 0x0040000)",
    "no death signal": "c('prctl', 1, 0, 0, 0, 0)",
    "dumpable": "c('prctl', 4, 1, 0, 0, 0) or True",
    "subreaper": "nonempty(LIBC.prctl(36, 1, 0, 0, 0) == 0)",
    "securebits": "nonempty(LIBC.prctl(28, 0, 0, 0, 0) == 0)",
    "own filter": "nonempty(LIBC.prctl(22, 1, 0, 0, 0) == 0)",
    "seccomp": "call(317, 1, 0, 0)",
    "listener of a filter": "call(317, 1, 8, struct.pack('HxxxxxxP', 0, 0))",
    "landlock": "call(444, 0, 0, 1)",
    "priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)",
    "processors": "os.sched_setaffinity(os.getppid(), {0})",
    "real time": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
}
NETWORK = {
    "tcp": "socket.create_connection(('127.0.0.1', PORT))",
    "tcp to a name": "socket.create_connection(('localhost', PORT))",
    "tcp to another machine": "socket.create_connection(('1.1.1.1', 53), 1)",
    "fast open": "socket.socket().sendto(b'a', 0x20000000, ('127.0.0.1', PORT))",
    "tcp 6": "socket.create_connection(('::1', PORT))",
    "pair of datagrams": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "pair of packets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
    "pair of another family": "socket.socketpair(16, socket.SOCK_RAW)",
    "connected pair": "socket.socketpair()[0].connect('/run/dbus/system_bus_socket')",
    "listening pair": "socket.socketpair()[0].listen()",
    "option of a pair": "socket.socketpair()[0].setsockopt(1, 16, 1)",
    "descriptor by a pair": "socket.send_fds(socket.socketpair()[0], [b'a'], [0])",
    "address by a pair": "socket.socketpair()[0].sendto(b'a', '/run/systemd/notify')",
    "server": "socket.create_server(('127.0.0.1', 0))",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'a', ('127.0.0.1', PORT))",
    "unix": "socket.socket(socket.AF_UNIX).connect('/run/dbus/system_bus_socket')",
    "docker": "socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')",
    "abstract": "socket.socket(socket.AF_UNIX).connect('\\0a')",
    "log": "__import__('syslog').syslog('made'); socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect('/dev/log')",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "packet": "socket.socket(17, socket.SOCK_RAW, 3)",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "bluetooth": "socket.socket(31, socket.SOCK_RAW, 1)",
    "crypto": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "urllib": "__import__('urllib.request').request.urlopen('http://127.0.0.1:PORT', timeout=1)",
    "http": "__import__('http.client').client.HTTPConnection('127.0.0.1', PORT, timeout=1).connect()",
    "name": "socket.getaddrinfo('example.com', 80)",
    "asyncio": "__import__('asyncio').run(__import__('asyncio').open_connection('127.0.0.1', PORT))",
    "system call socket": "call(41, 2, 1, 0)",
    "system call connect": "call(42, 1, struct.pack('HH12x', 2, 80), 16)",
    "system call sendto": "call(44, 1, b'a', 1, 0, struct.pack('HH12x', 2, 80), 16)",
    "system call sendmsg": "call(46, 1, b'a', 0)",
    "system call accept": "call(43, 0, 0, 0)",
    "io_uring": "call(425, 1, bytes(120))",
}
OTHERS = {
    "signal the parent": "os.kill(os.getppid(), 0)",
    "end the parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "interrupt the parent": "os.kill(os.getppid(), signal.SIGINT)",
    "signal all": "os.kill(-1, 0)",
    "signal the group": "os.kill(0, 0)",
    "signal the group by number": "os.killpg(os.getpgid(0), 0)",
    "signal init": "os.kill(1, 0)",
    "tkill": "call(200, os.getppid(), 0)",
    "tgkill": "call(234, os.getppid(), os.getppid(), 0)",
    "queued signal": "call(129, os.getppid(), 10, bytes(128))",
    "queued signal to a thread": "call(297, os.getppid(), os.getppid(), 10, bytes(128))",
    "pidfd": "os.pidfd_open(os.getppid())",
    "pidfd signal": "call(424, 1, 10, 0, 0)",
    "pidfd of init": "call(434, 1, 0)",
    "descriptor of another": "call(438, 1, 0, 0)",
    "owner of signals": "fcntl.fcntl(1, 8, os.getppid())",
    "signals of a pipe": "fcntl.fcntl(1, 10, 9)",
    "asynchronous": "fcntl.fcntl(1, fcntl.F_SETFL, os.O_ASYNC)",
    "ptrace": "call(101, 16, os.getppid(), 0, 0)",
    "ptrace seize": "call(101, 0x4206, os.getppid(), 0, 0)",
    "ptrace me": "call(101, 0, 0, 0, 0)",
    "read another's memory": "call(310, os.getppid(), bytes(16), 1, bytes(16), 1, 0)",
    "write another's memory": "call(311, os.getppid(), bytes(16), 1, bytes(16), 1, 0)",
    "memory file of the parent": "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    "own memory file": "open('/proc/self/mem', 'r+b')",
    "environment of the parent": "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "own first environment": "open('/proc/self/environ', 'rb').read()",
    "descriptors of the parent": "os.listdir(f'/proc/{os.getppid()}/fd')",
    "a descriptor of the parent": "os.open(f'/proc/{os.getppid()}/fd/1', os.O_WRONLY)",
    "folder of the parent": "os.listdir(f'/proc/{os.getppid()}/cwd')",
    "root of the parent": "open(f'/proc/{os.getppid()}/root/etc/passwd')",
    "terminal": "os.open('/dev/tty', os.O_RDWR)",
    "type into the terminal": "fcntl.ioctl(0, 0x5412, b'x')",
    "controlling terminal": "fcntl.ioctl(0, 0x540E, 0)",
    "paste into the terminal": "fcntl.ioctl(0, 0x541C, b'\\x03')",
    "processes": "nonempty([p for p in os.listdir('/proc') if p.isdigit()])",
    "compare with another": "call(312, os.getppid(), os.getpid(), 0, 0, 0)",
    "variable of the environment": "nonempty(os.environ.get('CANARY'))",
    "variable in C": "c('getenv', b'CANARY')",
    "bpf": "call(321, 0, bytes(72), 72)",
    "perf": "call(298, bytes(112), 0, -1, -1, 0)",
    "userfaultfd": "call(323, 0)",
    "keyctl": "call(250, 0, -3, 0, 0, 0)",
    "add_key": "call(248, b'user', b'a', b'b', 1, -3)",
    "request_key": "call(249, b'user', b'a', 0, -3)",
    "mount": "call(165, b'a', TEMPORARY.encode(), b'tmpfs', 0, 0)",
    "new mount": "call(430, b'tmpfs', 0)",
    "open tree": "call(428, -100, b'/', 1)",
    "move mount": "call(429, -100, b'/', -100, b'/', 0)",
    "umount": "call(166, b'/proc', 0)",
    "pivot": "call(155, b'/', b'/')",
    "swap": "call(167, b'/swap', 0)",
    "module": "call(313, 0, b'', 0)",
    "reboot": "call(169, 0xFEE1DEAD, 672274793, 0, 0)",
    "kexec": "call(246, 0, 0, 0, 0)",
    "host name": "call(170, b'made', 4)",
    "clock": "call(164, bytes(16), 0)",
    "clock by number": "call(227, 0, bytes(16))",
    "io port": "call(172, 3)",
    "local descriptors": "call(154, 1, bytes(16), 16)",
    "accounting": "call(163, b'/tmp/made')",
    "quota": "call(179, 0, b'/', 0, 0)",
    "name of a file": "call(303, -100, b'/', bytes(64), bytes(8), 0)",
    "file by its handle": "call(304, -100, bytes(64), 0)",
    "shared memory of System V": "call(29, 0, 4096, 0o1600)",
    "messages of System V": "call(68, 0, 0o1600)",
    "semaphores of System V": "call(64, 0, 1, 0o1600)",
    "queue of messages": "call(240, b'made', 0o102, 0o600, 0)",
    "inotify": "call(294, 0)",
    "fanotify": "call(300, 0, 0)",
    "timer descriptor": "call(283, 1, 0)",
    "timer with a signal": "call(222, 1, 0, bytes(8))",
    "asynchronous input": "call(206, 1, bytes(8))",
    "splice": "call(275, 0, 0, 1, 0, 9, 0)",
    "vmsplice": "call(278, 1, bytes(16), 1, 0)",
    "migrate pages": "call(256, os.getppid(), 1, bytes(8), bytes(8))",
    "move pages": "call(279, os.getppid(), 0, 0, 0, 0, 0)",
    "advise another": "call(440, 0, 0, 0, 0, 0)",
    "shared memory without a file": "mmap.mmap(-1, 4096)",
    "locked memory": "call(151, 3)",
    "x32 system call": "call(0x40000000 | 41, 2, 1, 0)",
    "negative system call": "call(-1)",
    "later system call": "call(100_000)",
}
ATTACKS = {**READING, **WRITING, **PROCESSES, **NETWORK, **OTHERS}
REFUSED = ("EPERM", "EACCES", "ENOSYS")
# What may end otherwise, by the end of its name, and why that is not a success: the error of a library, a missing file.
HARMLESS = {
    "limit": "ValueError",
    "size": "ValueError",
    "open files": "ValueError",
    "cache of the user": "ENOENT",  # a machine on which nobody has used a cache has no such folder
    "name": "gaierror",
    "urllib": "URLError",
    "by a pair": "EISCONN",
    "call sendto": "ENOTSOCK",
    "forkpty": "OSError",
    "library": "OSError",
    "sqlite": "OperationalError",
    **dict.fromkeys(SYSTEM_PATHS, "ENOENT"),
}

# ---- programs that must be ended from outside

LATE, LARGE = "ran longer than", ""
FATAL = {
    "sleep": ("import time; time.sleep(60)", LATE),
    "loop": ("while True: pass", LATE),
    "loop in C": ("sum(range(10**12))", LATE),
    "power in C": ("print(9 ** 9 ** 9)", LATE),
    "search in C": ("import re; re.match('(a+)+$', 'a' * 60 + 'b')", LATE),
    "sort in C": ("import numpy as np\nwhile True: np.sort(np.random.rand(10**7))", LATE),
    "deaf to signals": (
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(60)",
        LATE,
    ),
    "handlers": (
        "import signal, time\nfor n in range(1, 32):\n    try: signal.signal(n, lambda *a: None)\n"
        "    except (OSError, ValueError): pass\nwhile True: time.sleep(1)",
        LATE,
    ),
    "closed pipes": ("import os, time\nos.closerange(0, 64)\ntime.sleep(60)", LATE),
    "all exceptions caught": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        LATE,
    ),
    "a thread that stays": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
        LATE,
    ),
    "exit handler": ("import atexit, time\natexit.register(time.sleep, 60)", ""),
    "endless print": ("while True: print('x' * 1000)", "wrote more than"),
    "endless print to stderr": (
        "import os\nwhile True: os.write(2, b'x' * 1000)",
        "wrote more than",
    ),
    "endless numbers": ("import sys\nsys.set_int_max_str_digits(0)\nprint(10 ** 10 ** 7)", ""),
    "100 GB": ("x = bytearray(100 * 10**9)", ""),
    "100 GB piece by piece": ("x = []\nwhile True: x.append(bytearray(10**8))", ""),
    "100 GB in threads": (
        "import threading\nx = []\ndef f():\n    while True: x.append(bytearray(10**8))\n"
        "for i in range(8): threading.Thread(target=f).start()",
        "MemoryError",
    ),
    "memory of numpy": ("import numpy as np\nx = []\nwhile True: x.append(np.ones(10**8))", ""),
    "recursion": ("def f(): f()\nf()", "RecursionError"),
    "recursion without a limit": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
        "",
    ),
    "deep expression": ("eval('(' * 10**5)", ""),
    "deep tree": ("eval('-' * 10**6 + '1')", ""),
    "fork bomb": ("import os\nwhile True: os.fork()", "PermissionError"),
    "threads": (
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
        "",
    ),
    "crash": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "abort": ("import os; os.abort()", "SIGABRT"),
    "kill itself": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "stop itself": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", LATE),
    "32-bit system call": (
        "import ctypes, mmap\n"
        "m = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)\n"
        "m.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()",
        "SIG",
    ),
}

# ---- messages to the broker: what is written to the pipe, after the number of the request's kind

FORGED = {
    "garbage": "send(b'\\xff' * 64)",
    "pickle": "send(b'cos\\nsystem\\n(S\\'touch made\\'\\ntR.' * 4)",
    "answer": "frame(b'!', b'{\"ok\": true}')",
    "long frame": "send(b'?' + (1 << 60).to_bytes(8, 'little'))",
    "no request": "ask({})",
    "no JSON": "frame(b'?', b'[[[[')",
    "deep JSON": "frame(b'?', b'[' * 100_000)",
    "huge number": "frame(b'?', b'{\"ask\": ' + b'9' * 100_000 + b'}')",
    "list": "frame(b'?', b'[1]')",
    "unknown request": "ask({'ask': 'system', 'command': 'touch made'})",
    "private name": "ask({'ask': '__init__'})",
    "path": "ask({'ask': 'write', 'output': '/tmp/made'})",
    "number of an output": "ask({'ask': 'write', 'output': 0})",
    "negative number": "ask({'ask': 'write', 'output': -1})",
    "flag as a number": "ask({'ask': 'write', 'output': True})",
    "open": "ask({'ask': 'open', 'output': 0})",
    "render": "ask({'ask': 'render', 'format': '../../made', 'dpi': 1, 'time_limit': 1})",
    "render for ever": "ask({'ask': 'render', 'format': 'svg', 'dpi': 1, 'time_limit': 1e300})",
    "film": "ask({'ask': 'film', 'width': 10**9, 'height': 1})",
    "figures": "ask({'ask': 'figures', 'seconds': -1, 'most': 1})",
    "part": "ask({'ask': 'part', 'first': 0, 'kind': 'csv'})",
    "prepare": "ask({'ask': 'prepare', 'facts': {}, 'resume': False})",
    "torch": "ask({'ask': 'torch'})",
    "cluster": "ask({'ask': 'cluster'})",
    "command": "ask({'ask': 'command', 'words': ['run', '--engine', 'torch', 'other.py']})",
    "entry": "ask({'ask': 'entry', 'names': []})",
    "data first": "frame(b'd', b'x')",
    "end first": "frame(b'.', b'{}')",
    "stop first": "frame(b'x', b'')",
}
FORGING = """
from gradtrace.sandbox import channel
import json, os, time
def send(content):
    os.write(channel.state.channel.outgoing, content)
def frame(kind, body):
    send(kind + len(body).to_bytes(8, "little"))
    while body:
        body = body[os.write(channel.state.channel.outgoing, body):]
def ask(word):
    frame(b"?", json.dumps(word).encode())
"""

# ---- every system call by its number, with hostile arguments

LAST_CALL = 500
VECTORS = ((0, 0, 0, 0, 0, 0), (-1,) * 6, (1, 2, 3, 4, 5, 6), (1 << 63, 1 << 62, 1 << 40, 0, -1, 7))
# Of those that are allowed these end or block the process, whatever the arguments, or belong to its threads.
# The kernel itself answers 335 and 336 (probes) with SIGILL, before any filter.
OWN_PROCESS = (
    0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 23, 24, 25, 28, 32, 33, 34, 35, 37, 38, 60, 61, 62, 127, 128,
    130, 131, 158, 160, 202, 218, 219, 230, 231, 234, 247, 270, 271, 273, 292, 295, 296, 302, 324, 334, 335, 336, 436,
)  # fmt: skip
SWEEP = f"""
import ctypes, os
def call_all():
    library, allowed = ctypes.CDLL(None, use_errno=True), []
    for number in [*range({LAST_CALL}), *(0x40000000 | n for n in range({LAST_CALL}))]:
        if number in {OWN_PROCESS!r}:
            continue
        for vector in {VECTORS!r}:
            ctypes.set_errno(0)
            result = library.syscall(ctypes.c_long(number), *map(ctypes.c_long, vector))
            if result != -1 or ctypes.get_errno() not in (1, 38):
                allowed.append(number)
                break
    os.write(2, f"system calls {{allowed}}\\n".encode())
call_all()
"""

# ---- many attacks in one program

TRIED = f"""
def attack_all():
    folder = os.getcwd()
    for name, text in ATTACKS.items():
        try:
            os.chdir(folder)
            exec(text, globals())
        except OSError as error:
            told = errno.errorcode.get(error.errno, type(error).__name__)
            told = "refused" if told in {REFUSED!r} else told
        except BaseException as error:
            told = type(error).__name__
        else:
            told = "DONE"
        os.write(2, f"attack {{name}} -> {{told}}\\n".encode())
    os.chdir(folder)
attack_all()
"""


def program_of(attacks: dict[str, str], port: int, program: str) -> str:
    """Return a program that makes the attacks one after the other and writes the outcome of each to stderr."""
    texts = {
        name: text.replace("PORT", str(port)).replace("PROGRAM", repr(program))
        for name, text in attacks.items()
    }
    return f"{PRELUDE}\nATTACKS = {texts!r}\n{TRIED}"


def outcomes(said: str) -> list[tuple[str, str]]:
    """Return the name and the outcome of each attack, as often as it was made; a command may have wrapped the lines."""
    return re.findall(r"\battack (.+?) -> (\w+)", " ".join(said.split()))


def surprises(made: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the attacks that were not refused."""
    return {
        (name, told) for name, told in made if told != "refused" and not is_harmless(name, told)
    }


def is_harmless(name: str, told: str) -> bool:
    return any(name.endswith(end) and told == known for end, known in HARMLESS.items())


def answered_calls(said: str) -> set[int]:
    """Return the numbers of the system calls that SWEEP did not find refused."""
    found = re.findall(r"system calls \[(.*?)\]", " ".join(said.split()))
    return {int(number) for numbers in found for number in numbers.split(", ")}


def known_calls() -> set[int]:
    """Return the numbers of the system calls that a program with a folder for temporary files may make."""
    table = system_calls.table(1, 1, writes=True, starts=False, temporary=True)
    return {*table.allowed, *(number for number, _ in table.conditional), *table.ignored}
