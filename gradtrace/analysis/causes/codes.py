"""The codes of all causes, each with a sentence; docs/why.md is generated from this list."""

from __future__ import annotations

from gradtrace.analysis.causes.table import QUESTIONS, Question
from gradtrace.analysis.laws.table import ANSWERS, LATE, LAWS, REMARKS, Law
from gradtrace.annotations import Sequence

# Why the gradient of one tensor is what it is.
OF_TENSORS = {
    "backward": "an ordinary gradient, with where it comes from",
    "accumulated": "several passes added up",
    "assigned": "the program set the gradient",
    "hook": "a hook replaced it",
    "hook on the way": "a hook changed it before it came here",
    "changed through .data": "a saved value was changed behind autograd's back",
    "stale optimiser": "an optimiser holds the tensor that had the name before",
    "cleared": "it was set to None after backward",
    "zeroed": "it was set to zero after backward",
    "clipped to 0": "clip_grad_norm_ with an infinite norm",
    "never called": "backward was not called, or the program failed before",
    "autograd.grad": "autograd.grad returns gradients and stores none",
    "non-leaf": "backward keeps gradients only for leaves",
    "hidden leaf": "the leaf is the tensor inside of an expression",
    "rebound": "the name stands for another tensor by now",
    "inputs=": "backward(inputs=) was for others",
    "overwritten": "an in-place operation made a later version",
    "unused": "nothing was computed from it",
    "not on a path": "what was computed from it is not part of the result",
    "failed": "backward failed before it came there",
    "gave None": "a Function returned None for it",
    "no gradient": "no gradient came along its paths",
    "detach": "cut off by detach()",
    "detach_": "cut off by detach_()",
    ".data": "cut off by .data",
    "no_grad": "computed under no_grad",
    "no grad mode": "used with grad mode off alone",
    "inference_mode": "computed under inference_mode",
    "set_grad_enabled": "computed while set_grad_enabled(False)",
    "comparison": "a comparison has no derivative",
    "integer": "integers have no derivative",
    "index": "it only chooses which element is taken",
    "item": "taken as a Python number",
    "tolist": "taken as Python numbers",
    "numpy": "taken as a numpy array",
    "copied": "copied into a new tensor: torch.tensor([a, b])",
    "reentrant checkpoint": "a reentrant checkpoint none of whose inputs requires grad",
    "late": "used before it required grad",
    "no grad": "a leaf without requires_grad",
    "frozen": "its requires_grad was set to False",
    "no leaf requires grad": "nothing that it was computed from requires grad",
    "no derivative": "an operator without a derivative",
    "dead relu": "a rectifier whose inputs are all negative",
    "clamp": "outside of the bounds of a clamp",
    "mask": "multiplied by a mask of zeros",
    "untaken where": "torch.where took the other branch",
    "flat": "a function that is flat, such as round",
    "straight-through reversed": "a straight-through estimate that detaches the wrong part",
    "saturated": "a saturated sigmoid, tanh or softmax",
    "one class": "a softmax over one class",
    "cancelled": "what arrived along its paths cancels out",
    "not chosen": "a maximum chose other elements",
    "symmetry": "its contributions cancel out: the result does not depend on it",
    "zero factor": "multiplied by a factor of zeros",
    "zero at first": "multiplied by a parameter that starts at 0 and is trained",
    "zero vector": "backward was started with zeros",
    "zero derivative": "a derivative of 0 at this point",
    "dropout": "dropout dropped every element",
    "padding": "only rows at padding_idx were looked up",
    "underflow": "less than the dtype holds",
}

# Why a program failed. Any other error has the name of its exception as its code.
OF_FAILURES = {
    "modified in place": "a saved tensor was changed in place",
    "carried over": "a graph carried into a later step, whose weights have changed",
    "freed": "backward a second time through a graph that is freed, or carried over",
    "not a scalar": "backward from several elements",
    "leaf in place": "a leaf that requires grad was changed in place",
    "not a leaf": "a flag of a non-leaf was set",
    "forward without apply": "a Function's forward was called directly",
    "wrong dtype": "a tensor of a dtype that the rest does not have",
    "wrong shape": "shapes that do not fit",
    "wrong gradient shape": "a Function's backward returned a gradient of a wrong shape",
    "out of range": "labels or indices beyond what there is",
    "lost peer": "another process of the training ended first",
    "unused under DDP": "parameters without a gradient under DistributedDataParallel",
    "row in place": "a row taken while iterating was changed in place",
}


def of(questions: Sequence[Question | Law]) -> dict[str, str]:
    """Return the codes of questions or laws, in their order, each once."""
    return {code: text for question in questions for code, text in question.codes.items()}


def markdown() -> str:
    """Return the lists as Markdown tables."""
    laws = of(LAWS)
    runs = (pair for pair in of(QUESTIONS).items() if pair not in laws.items())
    groups = {
        "What breaks a law of training": of((*ANSWERS, *LATE)),
        "What breaks a law and may be meant: remarks": of(REMARKS),
        "What else is wrong in a run, most serious first": dict(runs),
        "Why a gradient is what it is": OF_TENSORS,
        "Why a program failed": OF_FAILURES,
    }
    parts = []
    for title, codes in groups.items():
        rows = "\n".join(f"| `{code}` | {text} |" for code, text in codes.items())
        parts.append(f"## {title}\n\n| code | what it says |\n| --- | --- |\n{rows}\n")
    return "\n".join(parts)
