"""What is measured: the jobs, who takes part in each, and the ratios to reach."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).parent / "jobs"
EXPRESSION = ["(x+w)*(w+1)", "--x", "2", "--w", "1"]
# For large arrays, for every peer: glibc keeps freed memory for the next array, and asks for huge pages. Without this a
# row measures page faults. numpy asks for huge pages even without it, PyTorch does not.
KEEP_MEMORY = {
    "GLIBC_TUNABLES": f"glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold={2**40}:glibc.malloc.hugetlb=1"
}
# What the installed command runs; `python -m` would import more than that.
COMMAND = ["{python}", "-c", "from gradtrace.cli.main import main; main()"]
PEERS = ("gradtrace", "torch", "autograd", "numpy", "floats")
OURS = "gradtrace"
USES = ("record", "build", "save", "read", "why", "stats", "trace", "graph")  # of a recording
TORCH_RECORDERS = ("anomaly", "debug", "torchlens", "torchviz")


class Target(NamedTuple):
    """gradtrace over `peer` is to be at most `ratio`."""

    peer: str
    ratio: float
    figure: str = "seconds"  # or "bytes"


class Job(NamedTuple):
    title: str
    unit: str  # of the times shown: "ms", "us", "ns" or "s"; "times" for a ratio
    peers: dict[str, list[str]]  # what to run for each peer; "{python}" is its interpreter
    targets: tuple[Target, ...] = ()
    whole: bool = False  # the time of the whole process, not what it prints
    agree: float = 1e-9  # how far the results of two peers may be apart, relative
    says: str = ""  # what our own output must contain, where it prints no figures
    environment: Mapping[str, str] = {}  # of every peer's processes
    needs: str = ""  # a module without which the job is left out
    most: int = 100  # rounds of a job that takes minutes


def script(name: str, *arguments: object, peers: tuple[str, ...] = PEERS) -> dict[str, list[str]]:
    return {p: run_script(name, p, *arguments) for p in peers}


def run_script(name: str, peer: str, *arguments: object) -> list[str]:
    return ["{python}", str(SCRIPTS / f"{name}.py"), peer, *map(str, arguments)]


def without(peers: dict[str, list[str]], *names: str) -> dict[str, list[str]]:
    return {name: command for name, command in peers.items() if name not in names}


def than(peer: str, seconds: float, memory: float | None = None) -> tuple[Target, ...]:
    times = (Target(peer, seconds),)
    return times if memory is None else (*times, Target(peer, memory, "bytes"))


def large_arrays(function: str, elements: int, targets: tuple[Target, ...] = ()) -> Job:
    """Ten elementwise operations with a square root or a sine among them, on random arrays."""
    return Job(
        f"10 elementwise operations, one a {function}, on {elements:,} float64, forward + backward, per operation",
        "ms",
        without(script("mixed_ops", function, elements, 10), "floats"),
        targets,
        environment=KEEP_MEMORY,
    )


def torch_recording(
    way: str, model: str, what: str, others: tuple[str, ...], targets: tuple[Target, ...]
) -> Job:
    """A recorded training step of PyTorch, as a multiple of the plain step with which it takes turns."""
    peers = {
        peer: run_script("torch_recording", peer, way, model) for peer in (OURS, "torch", *others)
    }
    return Job(
        f"PyTorch's {what}: CPU time over the plain step's", "times", peers, targets, needs="torch"
    )


def per_function(model: str, what: str) -> Job:
    """What recording adds for each autograd function of a small step; 50 us are to be reached."""
    peers = {
        peer: run_script("torch_recording", peer, "each", model)
        for peer in (OURS, *TORCH_RECORDERS[:2])
    }
    return Job(
        f"PyTorch's {what}: CPU time that recording adds per autograd function",
        "us",
        peers,
        needs="torch",
    )


def linear(what: str) -> Job:
    """One use of a long recording of PyTorch, beside the same on a record of a tenth of its length."""
    title = f"`{what}` of a recording of 10,000 operations, CPU time per operation"
    return Job(
        title, "us", lengths(what, 10_000, 1_000), than("1,000 operations", 2.0), needs="torch"
    )


def lengths(what: str, longest: int, *others: int) -> dict[str, list[str]]:
    """A use of recordings of several lengths; the longest one counts as ours."""
    names = {longest: OURS, **{size: f"{size:,} operations" for size in others}}
    return {name: run_script("linear", what, size) for size, name in names.items()}


JOBS = {
    "start": Job(
        "cold start of the scalar `eval`, whole process",
        "ms",
        {
            OURS: [*COMMAND, "eval", *EXPRESSION],
            "python": ["{python}", "-c", "pass"],
            "click": ["{python}", "-c", "import click"],
            "numpy": ["{python}", "-c", "import numpy"],
            "torch": ["{python}", "-c", "import torch"],
        },
        than("numpy", 0.55),
        whole=True,
        says="MulBackward0",
    ),
    "start-array": Job(
        "cold start of the same with arrays, whole process",
        "ms",
        {
            OURS: [
                *COMMAND,
                "eval",
                EXPRESSION[0],
                "--x",
                "2,3",
                "--w",
                "1,1",
                "--grad-tensors",
                "1,1",
            ],
            "numpy, click": ["{python}", "-c", "import numpy, click"],
        },
        than("numpy, click", 1.15),
        whole=True,
        says="MulBackward0",
    ),
    "scalar": Job(
        "forward + backward per operation, float64 scalars, 1,000 mixed operations",
        "us",
        script("mixed_ops", "sin", 0, 1000),
        than("torch", 0.2),
    ),
    "ten": Job(
        "forward + backward per operation, 10 elements, 1,000 mixed operations",
        "us",
        without(script("mixed_ops", "sin", 10, 1000), "floats"),
        than("torch", 0.35),
    ),
    "million": Job(
        "1,000,000 scalar operations, forward + backward",
        "s",
        without(script("long_chain", 1_000_000), "autograd", "numpy", "floats"),
        than("torch", 0.1, 0.2),
    ),
    "large": large_arrays("sqrt", 1_000_000, than("torch", 1.0)),
    "larger": large_arrays("sqrt", 10_000_000, than("torch", 1.0)),
    "large-sine": large_arrays("sin", 1_000_000, than("torch", 1.2)),
    "larger-sine": large_arrays("sin", 10_000_000),
    "mlp": Job(
        "MLP 64-128-10, batch of 32, 1,000 steps of SGD",
        "s",
        without(script("mlp", 1000), "floats"),
        than("torch", 1.0),
        agree=2e-3,
    ),
    "rows": Job(
        "Black-Scholes value and 5 gradients by row, 1,000,000 rows (`map`)",
        "s",
        without(script("black_scholes", 1_000_000), "floats"),
        than("torch", 0.4),
    ),
    "rows-large": Job(
        "Black-Scholes value and 5 gradients by row, 10,000,000 rows (`map`)",
        "s",
        without(script("black_scholes", 10_000_000), "floats", "autograd"),
        than("torch", 0.11),
    ),
    "rows-threads": Job(
        "Black-Scholes value and 5 gradients by row, 10,000,000 rows (`map`), two threads",
        "s",
        script("black_scholes", 10_000_000, 2, peers=(OURS, "torch")),
    ),
    "loop": Job(
        "a pass of `n = n + i` in a program, beside Python alone",
        "us",
        {peer: run_script("programs", peer, "loop", 1_000_000) for peer in (OURS, "python")},
        than("python", 1.3),
    ),
    "statement": Job(
        "three statements on 10 elements in a program, beside Python alone",
        "us",
        {peer: run_script("programs", peer, "statement", 50_000) for peer in (OURS, "python")},
        than("python", 1.3),
    ),
    "statement-scalar": Job(
        "`y = y * w + b` on float64 scalars in a program, beside Python alone",
        "us",
        {peer: run_script("programs", peer, "scalar", 100_000) for peer in (OURS, "python")},
        than("python", 1.3),
    ),
    "repeated": Job(
        "(x+w)*(w+1) and its gradients, 100,000 runs of one plan, per run",
        "us",
        script("repeated", 100_000, peers=(OURS, "eager", "torch", "floats")),
    ),
    "torch-structure": torch_recording(
        "structure",
        "transformer",
        "step of a transformer, structure recorded",
        (),
        than("torch", 1.1, 1.1),
    ),
    "torch-summary": torch_recording(
        "summary",
        "transformer",
        "step of a transformer, summaries recorded",
        TORCH_RECORDERS,
        than("torch", 1.25, 1.1),
    ),
    "torch-precision": torch_recording(
        "precision",
        "transformer",
        "step of a transformer, computed again in float64",
        (),
        than("torch", 6.0),
    ),
    "torch-guard": torch_recording(
        "guard", "resnet", "step of a ResNet, guarded", (), than("torch", 1.02)
    ),
    "torch-resnet": torch_recording(
        "summary", "resnet", "step of a ResNet, summaries recorded", TORCH_RECORDERS, ()
    ),
    "torch-small": per_function("mlp", "step of an MLP"),
    "torch-layer": per_function("layer", "step of an encoder layer"),
    **{f"linear-{what}": linear(what) for what in USES},
    "linear-all": Job(
        f"{', '.join(USES[:-1])} and {USES[-1]} of a recording of 100,000 operations, CPU time per operation",
        "us",
        lengths("all", 100_000, 10_000, 1_000),
        (*than("10,000 operations", 1.5), *than("1,000 operations", 2.0)),
        needs="torch",
        most=1,
    ),
}
