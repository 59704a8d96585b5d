"""python -m tests.differential --programs 10000 --seed 0: random programs in gradtrace and in the real PyTorch."""

from __future__ import annotations

import argparse
import collections
import sys

from . import programs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20, help="print so many differences in full")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("differential test skipped: PyTorch is not installed (pip install torch==2.13.0)")
        return 0
    import gradtrace

    torch.set_num_threads(1)
    counts: collections.Counter[str] = collections.Counter()
    statements = 0
    for seed in range(options.seed, options.seed + options.programs):
        found, ran = programs.run(seed, gradtrace, torch)
        statements += ran
        if found is None:
            continue
        found = programs.shrink(found, gradtrace, torch)
        kind = programs.kind(found.what)
        counts[kind] += 1
        if counts[kind] == 1 and len(counts) <= options.show:
            print(f"--- seed {seed}", *found.statements, found.what, sep="\n", flush=True)
    for kind, count in counts.most_common():
        print(f"{count:6} {kind}")
    print(
        f"{options.programs} random programs ({statements} statements) from seed {options.seed}, "
        f"gradtrace against PyTorch {torch.__version__}: {sum(counts.values())} differ"
    )
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
