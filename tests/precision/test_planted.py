"""`gradtrace why --precision` ranks the operation of each planted loss first, and accuses none in a clean program.

`planted.txt` has a section for each: its name, the kind of the loss, and a program with "# here" on the line.
"""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HEAD = "import torch\ntorch.manual_seed(0)\n"
SECTIONS = [
    part.partition("\n")[::2] for part in (HERE / "planted.txt").read_text().split("=== ")[1:]
]
PLANTED = {
    name: (code, HEAD + body) for head, body in SECTIONS for name, _, code in [head.partition(": ")]
}
HEALTHY = ROOT / "tests/healthy/programs"
CLEAN = [
    *(
        ROOT / "examples" / f"{name}.py"
        for name in ("convolution", "mlp", "logistic_regression", "training_loop")
    ),
    *(
        ROOT / "examples" / f"{name}.py"
        for name in ("recurrent_cell", "residual_network", "second_derivatives")
    ),
    *(
        HEALTHY / f"{name}.py"
        for name in ("causal_attention", "lstm_language_model", "gan", "vae", "lbfgs")
    ),
    *(
        HEALTHY / f"{name}.py"
        for name in ("ema_by_deepcopy", "gaussian_likelihood", "neural_ode", "target_network")
    ),
]
HALF = """
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).half()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(32, 8).half(), torch.randint(0, 4, (32,))
for _ in range(3):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x).float(), y)
    loss.backward()
    opt.step()
"""


@pytest.fixture
def losses(answer, here):
    def measured(text):
        (here / "program.py").write_text(text)
        return json.loads(answer("why", "--precision", "./program.py", "--format", "json"))[
            "losses"
        ]

    return measured


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PLANTED)
def test_planted_loss_is_ranked_first(losses, name):
    code, text = PLANTED[name]
    line = next(i for i, line in enumerate(text.split("\n"), 1) if "# here" in line)
    first = losses(text)[0]
    assert (first["cause"], first["evidence"][0]["line"]) == (code, line)
    assert first["digits"] >= 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_clean_program_is_not_accused(answer, here, path):
    printed = answer("why", "--precision", str(path))
    assert printed.startswith("No operation loses precision: ")


def test_a_short_type_alone_is_not_accused(losses):
    assert losses(HEAD + HALF) == []
