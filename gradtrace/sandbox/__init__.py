"""The wall: a process that has given up its rights, and the process that keeps them.

    command line ── fork ──▶ child: gives up its rights, then parses, runs and draws the stranger's program
         │                     │
         └──── broker ◀── pipe ┘   bytes with a kind and a length; never a path, never a pickle

`kernel` gives up the rights (Landlock, seccomp), `confine` also the environment and the resources,
`system_calls` lists what remains allowed, `scratch` has the folder for temporary files, `growth`
measures it, and `channel` is the child's end of the pipe. The broker is `gradtrace.cli.broker`;
`gradtrace.cli.grants` says which files a child may read. Nothing here knows what the program is:
any code meets this wall.
"""
