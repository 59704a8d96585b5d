"""One module for each command, with the command in `command`; each loads when it is named."""

# name: what it does, as the list of commands says it (so that --help loads none of them)
COMMANDS = {
    "check": "Gradients against finite differences.",
    "diff": "Two programs, or one with two inputs: structure, values, gradients.",
    "eval": "Values, gradients and leaf status of an expression or a file.",
    "graph": "Draw the graph of an expression or a file.",
    "hessian": "All second derivatives of a number: symmetry, eigenvalues, definiteness.",
    "jacobian": "All first derivatives as matrices, with weighted sums of their rows.",
    "run": "Run a script as it is.",
    "plan": "Value and gradients as one static program.",
    "compare": "Dynamic and static graph side by side.",
    "map": "Value and gradients for every row of a table.",
    "ops": "What an operator does: forms, grad_fn, derivatives, kinks, an example.",
    "paths": "The chain rule path by path: local derivatives, products and their sum.",
    "repl": "A prompt: statements as they are typed, and questions about them.",
    "stats": "Norms, zeros, NaN; vanishing gradients; memory; levels; what is computed twice.",
    "trace": "Every step, forward and backward, in the order in which it happened.",
    "verify": "Notes that check themselves: their cells run, their records compared.",
    "why": "Why a gradient is None, zero or what it is; why a program failed.",
    "completion": "A script that makes the shell complete commands, options and variables.",
}
