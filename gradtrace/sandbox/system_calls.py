"""The system calls that a confined process may make, for x86-64 and aarch64.

It is an allow-list: a call that is missing, or that a later kernel adds, is refused. Left out on
purpose are all calls that start programs or processes, connect sockets, signal, trace or tune other
processes, change a file's mode, owner, times or attributes, link files, mount, load, or set up
asynchronous I/O. Opening, truncating, removing and renaming files is allowed where Landlock decides
about it. An open file is never one of the caller's: stdin, stdout and stderr are pipes.

Numbers: `asm/unistd_64.h` for x86-64 and `asm-generic/unistd.h` for aarch64 of Linux 6.1.
"""

from __future__ import annotations

from gradtrace.annotations import NamedTuple

ONE_OF = "one of"
NONE_OF = "none of"
WHOLE = 0xFFFFFFFF

CLONE_THREAD = 0x10000
O_TRUNC = 0o1000
O_ACCMODE = 3
O_WRONLY = 1
O_RDWR = 2
SET_USER_OR_GROUP = 0o6000  # the set-user-ID and set-group-ID bits of a file's mode
# Landlock before Linux 6.2 does not see truncation, but every version sees whether a file is opened
# for writing.
OPENED = (0, 1, 2, 3, O_TRUNC | O_WRONLY, O_TRUNC | O_RDWR)
MAP_SHARED = 1
MAP_ANONYMOUS = 0x20
RENAME_NOREPLACE = 1
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX; not TIOCSTI, which types into the
# terminal
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GETPIPE_SZ; not F_SETOWN,
# which aims signals
FCNTLS = (0, 1, 2, 3, 1030, 1031, 1032)
LOCKS = (5, 6, 7)  # F_GETLK, F_SETLK, F_SETLKW
AF_UNIX = 1
SOCK_STREAM = 1
SOCKET_TYPE = 0xF
PRCTLS = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA


class Condition(NamedTuple):
    """A condition under which a call is allowed: the low 32 bits of an argument, masked by `mask`,
    are one of the values, or none of them.
    """

    argument: int
    test: str  # ONE_OF or NONE_OF
    values: tuple[int, ...]
    mask: int = WHOLE


def opening(flags: int) -> tuple[Condition, ...]:
    """Return the conditions for opening a file: its flags are argument `flags`, and its mode is the
    next argument.
    """
    return (
        Condition(flags, ONE_OF, OPENED, O_TRUNC | O_ACCMODE),
        Condition(flags + 1, ONE_OF, (0,), SET_USER_OR_GROUP),
    )


# An entry is name:number on x86-64:number on aarch64. Frequent calls come first, because the kernel
# reads the filter from its start.
ALLOWED = """read:0:63 write:1:64 futex:202:98 fstat:5:80 lseek:8:62 mprotect:10:226
    munmap:11:215 brk:12:214 clock_gettime:228:113 newfstatat:262:79 stat:4: lstat:6: statx:332:291 getpid:39:172
    gettid:186:178 poll:7: ppoll:271:73 select:23: pselect6:270:72 pread64:17:67 pwrite64:18:68 readv:19:65
    writev:20:66 preadv:295:69 pwritev:296:70 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139
    rt_sigtimedwait:128:137 rt_sigpending:127:136 rt_sigsuspend:130:133 sigaltstack:131:132 access:21: faccessat:269:48
    faccessat2:439:439 readlink:89: readlinkat:267:78 getdents64:217:61 getdents:78: getcwd:79:17 statfs:137:43
    fstatfs:138:44 dup:32:23 close:3:57 dup2:33: dup3:292:24
    close_range:436:436 ftruncate:77:46 pipe:22: pipe2:293:59 fsync:74:82
    fdatasync:75:83 fadvise64:221:223 mremap:25:216 madvise:28:233 msync:26:227 membarrier:324:283 rseq:334:293
    set_robust_list:273:99 get_robust_list:274:100 set_tid_address:218:96 arch_prctl:158: restart_syscall:219:128
    exit:60:93 exit_group:231:94 wait4:61:260 waitid:247:95 getrandom:318:278 getuid:102:174 geteuid:107:175
    getgid:104:176 getegid:108:177 getppid:110:173 getpgrp:111: getpgid:121:155 getsid:124:156 getgroups:115:158
    getresuid:118:148 getresgid:120:150 uname:63:160 sysinfo:99:179 times:100:153 getrusage:98:165
    getcpu:309:168 gettimeofday:96:169 time:201: clock_getres:229:114 clock_nanosleep:230:115 nanosleep:35:101
    setitimer:38:103 getitimer:36:102 alarm:37: getrlimit:97:163 setrlimit:160:164 sched_yield:24:124
    sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125
    sched_get_priority_min:147:126 getpriority:140:141 capget:125:90 pause:34:
    chdir:80:49 fchdir:81:50"""
CONDITIONAL = {
    # Shared memory without a file stays in use after it is unmapped, and no count of the process
    # shows it.
    "mmap:9:222": (
        Condition(3, NONE_OF, (MAP_SHARED | MAP_ANONYMOUS,), MAP_SHARED | MAP_ANONYMOUS),
    ),
    "openat:257:56": opening(2),
    "open:2:": opening(1),
    "ioctl:16:29": (Condition(1, ONE_OF, IOCTLS),),
    "fcntl:72:25": (Condition(1, ONE_OF, FCNTLS),),
    "prctl:157:167": (Condition(0, ONE_OF, PRCTLS),),
    "clone:56:220": (Condition(0, NONE_OF, (0,), CLONE_THREAD),),
    "prlimit64:302:261": (Condition(0, ONE_OF, (0,)),),  # its own limits, which it can only lower
}
# These are allowed if the first argument is the process itself.
TO_ITSELF = ("kill:62:129", "tgkill:234:131")
TO_TRUNCATE = ("truncate:76:45",)
TO_MAKE_FOLDERS = ("mkdir:83:", "mkdirat:258:34")
# A process with a folder for temporary files may be any Python program. Landlock lets it remove and
# rename files only there. The only sockets that it can create are connected pairs, which asyncio
# needs, so the calls of ON_PAIRS reach nothing else.
TO_REMOVE = ("unlink:87:", "unlinkat:263:35", "rmdir:84:", "rename:82:", "renameat:264:38")
ON_PAIRS = (
    "sendto:44:206",
    "recvfrom:45:207",
    "getsockname:51:204",
    "getsockopt:55:209",
    "shutdown:48:210",
)
OF_PROGRAMS = {
    "renameat2:316:276": (Condition(4, ONE_OF, (0, RENAME_NOREPLACE)),),
    "socketpair:53:199": (
        Condition(0, ONE_OF, (AF_UNIX,)),
        Condition(1, ONE_OF, (SOCK_STREAM,), SOCKET_TYPE),
    ),
    "fcntl:72:25": (Condition(1, ONE_OF, (*FCNTLS, *LOCKS)),),  # sqlite3 locks its files
}
TO_START = ("execve:59:221",)
# Answered as by a kernel without them, so that libraries use the older call, whose arguments a
# filter can read.
MISSING = ("clone3:435:435", "openat2:437:437")
# Answered with 0 and not carried out: the parent's mask holds for new files.
IGNORED = ("umask:95:166",)
# The same for changes of modes and times and for lists of attributes by a Python program, so that
# shutil.copy succeeds.
IGNORED_FOR_PROGRAMS = """chmod:90: fchmod:91:52 fchmodat:268:53 utime:132: utimes:235: futimesat:261: utimensat:280:88
    listxattr:194:11 llistxattr:195:12 flistxattr:196:13"""
LAST_KNOWN = 450  # a call with a higher number is answered as MISSING too
CAPABILITIES = ("capget:125:90", "capset:126:91")  # of the process itself, before the filter stands


class Table(NamedTuple):
    """The filter of one architecture, as numbers."""

    allowed: tuple[int, ...]
    conditional: tuple[tuple[int, tuple[Condition, ...]], ...]
    missing: tuple[int, ...]
    ignored: tuple[int, ...]


def table(
    column: int,
    process: int,
    *,
    writes: bool,
    starts: bool,
    temporary: bool = False,
    sees_truncation: bool = True,
) -> Table:
    """Return the numbers of one architecture (column 1: x86-64, 2: aarch64) for the process with
    the id `process`.

    `writes`: it may make folders where Landlock lets it; `starts`: it may start programs where
    Landlock lets it; `temporary`: it has a folder for temporary files, where Landlock lets it
    remove and rename them; `sees_truncation`: Landlock decides about truncation by name.
    """
    allowed = [
        *ALLOWED.split(),
        *(TO_MAKE_FOLDERS if writes else ()),
        *(TO_START if starts else ()),
    ]
    conditional = {**CONDITIONAL, **dict.fromkeys(TO_ITSELF, (Condition(0, ONE_OF, (process,)),))}
    if writes and sees_truncation:
        allowed += TO_TRUNCATE
    if temporary:
        allowed += (*TO_REMOVE, *ON_PAIRS)
        conditional |= OF_PROGRAMS
    return Table(
        tuple(numbers(allowed, column)),
        tuple((number, c) for key, c in conditional.items() for number in numbers([key], column)),
        tuple(numbers(MISSING, column)),
        tuple(numbers([*IGNORED, *(IGNORED_FOR_PROGRAMS.split() if temporary else ())], column)),
    )


def numbers(entries: list[str] | tuple[str, ...], column: int) -> list[int]:
    """Return the numbers of the calls that an architecture has."""
    return [int(number) for entry in entries if (number := entry.split(":")[column])]
