"""Programs of several processes under torchrun, on gloo."""

import os
import signal
import subprocess
import sys


def torchrun(folder, text, ranks=2, **variables):
    """Run a program under torchrun; return what it printed. Its processes end with it, also if it takes too long.

    Each rank writes into files of its own: in one pipe their lines would cut each other.
    """
    (folder / "train.py").write_text(text)
    logs = folder / "logs"
    run = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        str(ranks),
        "--standalone",
    ]
    run += ["--log-dir", str(logs), "--redirects", "3", "train.py"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        run, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
        try:
            said = "".join(process.communicate(timeout=240))
            return said + "".join(file.read_text() for file in sorted(logs.glob("**/std*.log")))
        finally:
            if (
                process.poll() is None
            ):  # torchrun ends its processes, which have sessions of their own, by SIGTERM
                process.send_signal(signal.SIGTERM)
                process.wait(60)


def launch(folder, text, ranks=2, **variables):
    """Run a program of which each rank saves step.gt; return the names of the records."""
    said = torchrun(folder, text, ranks, **variables)
    names = sorted(p.name for p in folder.glob("*.gt"))
    assert names == [f"step.rank{i}.gt" for i in range(ranks)], said
    return names


def gradtrace(folder, *args):
    command = [sys.executable, "-m", "gradtrace", *args]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
