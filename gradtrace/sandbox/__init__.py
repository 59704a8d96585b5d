"""The second wall: a process that has given up its rights, and the process that keeps them.

    command line ── fork ──▶ child: gives up its rights, then parses, runs and draws the stranger's program
         │                     │
         └──── broker ◀── pipe ┘   bytes with a kind and a length; never a path, never a pickle

`kernel` gives up the rights (Landlock, seccomp, resource limits), `system_calls` lists what remains allowed, `grants`
says which files a child may read, and `channel` is the child's end of the pipe. `scratch` has its temporary
files, and `growth` measures what it writes to a folder. The broker is `gradtrace.cli.broker`.
Nothing here knows what the program is: any code meets this wall.
"""
