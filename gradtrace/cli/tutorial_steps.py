"""The steps of `gradtrace tutorial`: their texts, commands, programs and questions."""

from __future__ import annotations

from gradtrace.annotations import NamedTuple

NOTES = '"(x+w)*(w+1)"'

# the programs that the commands read: name -> text
PROGRAMS = {
    "line.txt": """\
x: data = [0, 1, 2]
y: data = [1, 3, 5]
w: leaf = 0.5
b: leaf = 0.0

error = w * x + b - y
loss = (error ** 2).mean()
""",
    "masked.py": """\
import torch

scores = torch.zeros(2, 3, requires_grad=True)
keep = torch.tensor([[True, True, False], [False, False, False]])
masked = scores.masked_fill(~keep, float("-inf"))
attention = torch.softmax(masked, dim=1)
loss = (attention * torch.ones(2, 3)).sum()
loss.backward()
""",
    "cube.py": """\
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x**2


x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
y = Cube.apply(x)
y.backward()
""",
}


class Question(NamedTuple):
    """A question about what was shown; the answer is one of `words`, or the number that `command`
    prints.
    """

    text: str
    hint: str
    command: str = ""
    words: tuple[str, ...] = ()


class Step(NamedTuple):
    """One step of the tutorial."""

    title: str
    text: str
    command: str
    remarks: str  # what to see in the output
    question: Question
    program: str = ""  # of PROGRAMS, shown before the command
    written: str = ""  # a text file that the command writes, shown after it


STEPS = (
    Step(
        "A value and its gradients",
        "Every name that an expression does not define is an input. Each input is an option of the "
        "command.",
        f"gradtrace eval {NOTES} --x 2 --w 1",
        "Each row is a tensor. x and w are leaves: no operation computed them. Their column "
        "`grad` says how fast the last row grows when they do: by 5 for each unit of w.",
        Question(
            "With --w 3 in place of --w 1: what is w.grad?",
            "w.grad is (x + w) + (w + 1). Or change --w in the command above and run it.",
            command=f"gradtrace eval {NOTES} --x 2 --w 3 --get w.grad",
        ),
    ),
    Step(
        "The chain rule, path by path",
        "w appears twice in the expression, so the result depends on it along two paths. Each "
        "path multiplies its local derivatives; the gradient is the sum over the paths.",
        f"gradtrace paths {NOTES} --x 2 --w 1 --to w",
        "One path goes through x+w, the other one through w+1.",
        Question(
            "How many paths lead from x*x*x to x?",
            "Each of the three factors is a path of its own. Or run: gradtrace paths x*x*x --x 2",
            words=("3", "three"),
        ),
    ),
    Step(
        "The graph",
        "Computing the value left a graph behind: which tensor was computed from which. "
        "backward() walks it from the result to the leaves. `graph` draws it as .svg, .png, .pdf, "
        "as an animation (.gif), as a page with a player (.html), or as text:",
        f"gradtrace graph {NOTES} --x 2 --w 1 -o graph.txt",
        "Read it upwards for values and downwards for gradients.",
        Question(
            "Which grad_fn does the result have?",
            "It stands in the first line, after the value.",
            words=("MulBackward0", "MulBackward"),
        ),
        written="graph.txt",
    ),
    Step(
        "Why is it None?",
        "In the first table the sums in the middle have no gradient. `why` says the reason, and "
        "what to change.",
        'gradtrace why "a = x + w; y = a * (w + 1)" a --x 2 --w 1',
        "PyTorch does the same: backward() stores gradients only in leaf tensors, unless "
        "retain_grad() was called.",
        Question(
            "With --retain-grad a, what is a.grad?",
            "The answer above says which gradient passed through a. Or run: "
            'gradtrace eval "a = x + w; y = a * (w + 1)" --x 2 --w 1 --retain-grad a',
            command='gradtrace eval "a = x + w; y = a * (w + 1)" --x 2 --w 1 --retain-grad a --get a.grad',
        ),
    ),
    Step(
        "A file",
        "A source can be a file. There an annotation gives an input its default: `leaf` requires "
        "grad, `data` does not.",
        "gradtrace eval line.txt",
        "Both gradients are negative: the loss falls when w and b grow. An option still sets an "
        "input: --w 2.",
        Question(
            "For which b is the loss 0 when w is 2? Try some: gradtrace eval line.txt --w 2 --b 0",
            "y is 2 * x + 1.",
            words=("1", "1.0"),
        ),
        program="line.txt",
    ),
    Step(
        "A loss of nan",
        "A PyTorch script runs as it is; PyTorch need not be installed. This one computes nan. "
        "Without a name, `why` says what went wrong first.",
        "gradtrace why masked.py",
        "The cause is in line 5, although nan appears in line 6.",
        Question(
            "Which value fills a whole row of the tensor `masked`?",
            "It is the second argument of masked_fill.",
            words=("-inf", 'float("-inf")', "inf", "-infinity"),
        ),
        program="masked.py",
    ),
    Step(
        "Is my derivative right?",
        "A custom Function has a backward of its own, and it can be wrong. `check` compares "
        "gradients with finite differences.",
        "gradtrace check cube.py",
        "The exit code is 1, so a build can fail on it.",
        Question(
            "The derivative of x**3 is a number times x**2. Which number should `backward` have in "
            "place of 2?",
            "Compare the columns: numeric divided by x**2, which is 4.",
            words=("3", "3.0", "three"),
        ),
        program="cube.py",
    ),
)

END = """\
This was the last step. What next:
  gradtrace --help             all commands
  gradtrace eval "x*w" --help  the options of one, with the inputs of x*w
  gradtrace why FILE           what went wrong in a program of yours
  gradtrace repl               a prompt
"""
