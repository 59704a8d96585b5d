"""What MkDocs calls: after a build the playground is made in the site. `mkdocs serve` makes it once."""

import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import make_playground

LOG = logging.getLogger("mkdocs.plugins.playground")
KEPT = Path(__file__).resolve().parents[1] / ".playground"  # for the rebuilds of `mkdocs serve`
state = {"command": "build"}


def on_startup(command: str, **_: Any) -> None:
    state["command"] = command


def on_post_build(config: Any, **_: Any) -> None:
    try:
        if state["command"] == "build" or not KEPT.exists():
            shutil.rmtree(KEPT, ignore_errors=True)
            make_playground.make(KEPT)
    except (OSError, subprocess.CalledProcessError) as error:
        LOG.info("the playground is left out; it needs npm and node: %s", error)
        return
    shutil.copytree(KEPT, Path(config["site_dir"], "playground"), dirs_exist_ok=True)
