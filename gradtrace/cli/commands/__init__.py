"""The commands: one module each, imported on first use, whose variable `command` is the command."""

# What each command does, for the list of --help, which loads none of them.
COMMANDS = {
    "eval": "Values, gradients and leaf status of an expression or a file.",
    "run": "Run a script as it is.",
    "jacobian": "All first derivatives as matrices, with weighted sums of their rows.",
    "hessian": "All second derivatives of a number: symmetry, eigenvalues, definiteness.",
    "graph": "Draw the graph of an expression or a file.",
    "page": "A page to explore, to play forward and backward, and for lessons.",
    "why": "Why a gradient is None, zero or what it is; why a program failed.",
    "paths": "The chain rule path by path: local derivatives, products and their sum.",
    "trace": "Every step, forward and backward, in the order in which it happened.",
    "stats": "Norms, zeros, NaN; vanishing gradients; memory; levels; what is computed twice.",
    "ledger": "What became of each gradient: from which loss, clipped, used by which step.",
    "check": "Gradients against finite differences.",
    "diff": "Two programs, or one with two inputs: structure, values, gradients.",
    "map": "Value and gradients for every row of a table.",
    "tutorial": "The first ten minutes, step by step in the terminal.",
    "repl": "A prompt: statements as they are typed, and questions about them.",
    "ops": "What an operator does: forms, grad_fn, derivatives, kinks, an example.",
    "plan": "Value and gradients as one static program.",
    "compare": "Dynamic and static graph side by side.",
    "verify": "Notes that check themselves: their cells run, their records compared.",
    "replay": "Run a training step from a capsule again in real PyTorch, and say why it went bad.",
    "doctor": "The walls of this machine, and what else gradtrace finds here.",
    "completion": "A script that makes the shell complete commands, options and variables.",
}

# What the commands are for, in the order of --help.
GROUPS = {
    "Values": ("eval", "run", "jacobian", "hessian"),
    "Pictures": ("graph", "page"),
    "Answers": ("why", "paths", "trace", "stats", "ledger", "check", "diff", "replay"),
    "Tables": ("map",),
    "Tools": ("tutorial", "repl", "ops", "plan", "compare", "verify", "doctor", "completion"),
}
