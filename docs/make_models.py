"""Makes docs/models.md and its pictures: python docs/make_models.py, from the project's folder.

The sizes of torchviz's and torchview's pictures are measured where these and PyTorch are installed; else those of the
last time stay in the table.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODELS = [
    ("notes", "The notes' example"),
    ("second_derivative", "Second derivatives"),
    ("nan", "A NaN"),
    ("loop", "A loop of 30 steps"),
    ("thousand", "1,000 operations"),
    ("mlp", "A perceptron of three layers"),
    ("lenet", "LeNet"),
    ("resnet_block", "A block of a ResNet"),
    ("lstm", "An LSTM"),
    ("vae", "A variational autoencoder"),
    ("encoder_layer", "A layer of a transformer's encoder"),
    ("gpt", "A GPT of six blocks"),
]
STYLES = ("data", "function", "autograd")
PATIENCE = 60  # seconds
CRASH = "no picture: pygraphviz failed"  # the embedded one, in some runs and not in others: the last size is kept
WIDTH, HEIGHT = 1600, 900
HEAD = """# Twelve models

The pictures of `gradtrace graph docs/models/NAME.py -o NAME.svg`, in each `--style`; `data` is the default. A picture
is laid out for a frame of 16:9 (`--fit`): the last number of each cell is the height of its smallest text, in pixels,
when the picture fills 1,600 by 900. Sizes are in points. `python docs/make_models.py` makes all of it again.

"""
OTHERS = """
import json, re, sys
import torch
name, text, model, given = json.load(sys.stdin)
space = {"__name__": "__main__"}
exec(compile(text, name, "exec"), space)
found = {}
from torchviz import make_dot
found["torchviz"] = make_dot(next(space[n] for n in ("loss", "penalty", "y") if n in space)).source
if model:
    from torchview import draw_graph
    found["torchview"] = draw_graph(space[model], input_data=space[given]).visual_graph.source
json.dump(found, sys.stdout)
"""
# the module and its input, for torchview
MODULES = {
    "mlp": ("mlp", "x"),
    "lenet": ("net", "images"),
    "resnet_block": ("block", "x"),
    "lstm": ("lstm", "x"),
    "vae": ("vae", "x"),
    "encoder_layer": ("layer", "x"),
    "gpt": ("gpt", "ids"),
}


def size_of(svg: str) -> str:
    """ "1037 x 639, 12.7" : points, and pixels of the smallest text in the frame.

    Graphviz shrinks a drawing to a `size` by a scale, and writes the sizes of text before it.
    """
    width, height = map(
        float, re.search(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg).groups()
    )
    smallest = min(map(float, re.findall(r'font-size="([\d.]+)"', svg)), default=0.0)
    scale = float(re.search(r'class="graph" transform="scale\(([\d.]+)', svg).group(1))
    pixels = smallest * scale * min(WIDTH / width, HEIGHT / height)
    return f"{width:.0f} x {height:.0f}, {pixels:.1f}"


def ours(name: str, style: str, path: Path) -> str:
    arguments = [f"docs/models/{name}.py", "--style", style, "-o", str(path)]
    command = [sys.executable, "-m", "gradtrace", "graph", *arguments]
    subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return size_of(path.read_text(encoding="utf-8"))


def others(name: str) -> dict[str, str]:
    """The sizes of the others' pictures, drawn by the same renderer; {} where they are not installed."""
    text = (ROOT / "docs" / "models" / f"{name}.py").read_text(encoding="utf-8")
    given = json.dumps([name, text, *MODULES.get(name, ("", ""))])
    done = subprocess.run(
        [sys.executable, "-c", OTHERS], input=given, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {}
    return {tool: rendered_size(source) for tool, source in json.loads(done.stdout).items()}


def rendered_size(source: str) -> str:
    """The size of a DOT text's picture, drawn in a process of its own: what others write may crash Graphviz."""
    command = [sys.executable, "-m", "gradtrace.views.image", "svg", "0"]
    try:
        drawn = subprocess.run(
            command,
            input=source.encode(),
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired:
        return f"not drawn in {PATIENCE} s"
    return size_of(drawn.stdout.decode()) if drawn.returncode == 0 else CRASH


def picture(name: str, title: str, style: str) -> str:
    """A paragraph with the picture of a model in one style."""
    return f"`--style {style}`\n\n![{title}, in the {style} style](gallery/models/{name}_{style}.svg)\n"


def main(folder: Path) -> None:
    pictures = folder / "gallery" / "models"
    pictures.mkdir(parents=True, exist_ok=True)
    known = folder / "models_beside.json"
    sizes = json.loads(known.read_text(encoding="utf-8")) if known.exists() else {}
    lines = [
        "| model | data | function | autograd | torchviz | torchview |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    parts = []
    for name, title in MODELS:
        cells = [ours(name, style, pictures / f"{name}_{style}.svg") for style in STYLES]
        beside = sizes.setdefault(name, {})
        beside.update(
            {
                tool: size
                for tool, size in others(name).items()
                if size != CRASH or tool not in beside
            }
        )
        cells += [beside.get(tool, "") for tool in ("torchviz", "torchview")]
        lines.append(f"| {title} | {' | '.join(cells)} |")
        parts.append(
            "\n".join([f"## {title}\n", *(picture(name, title, style) for style in STYLES)])
        )
    known.write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")
    (folder / "models.md").write_text(
        HEAD + "\n".join(lines) + "\n\n" + "\n".join(parts), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
