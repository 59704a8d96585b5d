"""The commands: one module each, imported on first use, whose variable `command` is the command."""

# What each command does, for the list of --help, which loads none of them: at most 64 characters.
COMMANDS = {
    "eval": "Show value, gradient and leaf status of every tensor.",
    "graph": "Draw the graph of an expression or a program.",
    "page": "Write a page to explore and to play; exercises for lessons.",
    "why": "Say why a gradient is None, zero or NaN; why a program failed.",
    "diff": "Say where two programs, inputs or recorded runs first differ.",
    "verify": "Check that the outputs in a notebook or Markdown still hold.",
    "stats": "Find gradients that vanish or explode; what memory holds.",
    "ledger": "Show what became of each gradient, up to the optimiser's step.",
    "check": "Compare gradients with finite differences; test a model.",
    "trace": "Show every step, forward and backward, in its order.",
    "paths": "Show the chain rule path by path, and the sum.",
    "replay": "Run a recorded training step again in real PyTorch.",
    "run": "Run a script as it is.",
    "map": "Compute value and gradients for every row of a table.",
    "jacobian": "Show all first derivatives as matrices.",
    "hessian": "Show all second derivatives of a number, and eigenvalues.",
    "plan": "Show the static graph of value and gradients; compare both kinds.",
    "tutorial": "Learn gradtrace in ten minutes, in the terminal.",
    "repl": "Type statements at a prompt, and ask questions about them.",
    "ops": "Describe an operator: forms, derivatives, kinks, an example.",
    "doctor": "Show how this machine confines programs, and what is installed.",
    "completion": "Print the script that completes commands in your shell.",
}

# What the commands are for, in the order of --help: three doors, and the rest.
GROUPS = {
    "Learn": ("eval", "graph", "page"),
    "Debug my training": ("why", "diff", "verify", "stats", "ledger", "check", "trace", "replay"),
    "Script a formula": ("run", "map", "jacobian", "hessian", "paths", "plan"),
    "More": ("tutorial", "repl", "ops", "doctor", "completion"),
}
