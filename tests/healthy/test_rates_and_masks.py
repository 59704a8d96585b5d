"""What `why` and `stats` say of learning rates that change, of clipping and of masks: each sentence is true."""

import re

import pytest

from tests.healthy.test_sentences import HEAD, LOOP, in_gradtrace, in_pytorch

pytestmark = pytest.mark.filterwarnings("ignore")

DECAYED = (
    "net = nn.Linear(4, 1)\n"
    "opt = torch.optim.SGD(net.parameters(), lr=1.0, weight_decay=5.0)\n"
    "schedule = torch.optim.lr_scheduler.ExponentialLR(opt, FACTOR)\n"
    "x, y = torch.randn(32, 4), torch.randn(32, 1)\n"
    "for step in range(8):\n"
    "    loss = nn.functional.mse_loss(net(x), y)\n" + LOOP + "    schedule.step()\n"
)


@pytest.mark.parametrize("ask", [in_gradtrace, in_pytorch])
@pytest.mark.parametrize(
    "factor, said",
    [
        ("1.0", r"lr=1 on line 5 multiplies the parameters by 1 - 1 \* 5 = -4 in each step\."),
        (
            "0.98",
            r"lr=1 to 0\.868126 on line 5 .* = -4 in step 1, and by 1 - 0\.868126 \* 5 = -3\.34 in step 8\.",
        ),
        ("0.8", r"^Checked:"),  # the loss has a peak
    ],
)
def test_weight_decay_has_the_learning_rate_of_its_step(tmp_path, ask, factor, said):
    path = tmp_path / "train.py"
    path.write_text(HEAD + DECAYED.replace("FACTOR", factor))
    answer = " ".join(ask(path, "why").split())
    assert re.search(said, answer), answer
    assert ("in each step" in answer) == (factor == "1.0"), answer


CLIPPED = (
    "net = nn.Sequential(nn.Linear(4, 40), nn.ReLU(), nn.Linear(40, 1))\n"
    "opt = torch.optim.OPTIMISER\n"
    "x, y = torch.randn(32, 4), torch.randn(32, 1)\n"
    "for step in range(3):\n"
    "    loss = nn.functional.mse_loss(net(x), y)\n"
    "    opt.zero_grad()\n"
    "    loss.backward()\n"
    "    nn.utils.clip_grad_norm_(net.parameters(), NORM)\n"
    "    opt.step()\n"
)


@pytest.mark.parametrize("ask", [in_gradtrace, in_pytorch])
def test_a_clip_that_leaves_next_to_nothing_is_named_with_the_norms(tmp_path, ask):
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + CLIPPED.replace("OPTIMISER", "SGD(net.parameters(), lr=0.1)").replace("NORM", "1e-9")
    )
    said = r"clip_grad_norm_ on line 11 reduces the norm of the gradients from [\d.]+ to 1e-9, and lr=0\.1 times that"
    for command in ("why", "stats"):
        answer = " ".join(ask(path, command).split())
        assert re.search(said, answer), answer


@pytest.mark.parametrize("ask", [in_gradtrace, in_pytorch])
@pytest.mark.parametrize(
    "optimiser, norm",
    [
        ("SGD(net.parameters(), lr=0.1)", "1e-3"),
        ("SGD(net.parameters(), lr=1e-12)", "0.1"),
        ("SGD(net.parameters(), lr=0.1, weight_decay=0.1)", "1e-9"),
        ("Adam(net.parameters(), lr=0.1)", "1e-9"),
    ],
)
def test_a_clip_that_is_not_why_parameters_stand_still_is_not_named(tmp_path, ask, optimiser, norm):
    path = tmp_path / "train.py"
    path.write_text(HEAD + CLIPPED.replace("OPTIMISER", optimiser).replace("NORM", norm))
    assert "reduces the norm" not in ask(path, "why") + ask(path, "stats")


ATTENTION = (
    "emb, q, k, v = nn.Embedding(20, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)\n"
    "parts = nn.ModuleList([emb, q, k, v])\n"
    "opt = torch.optim.SGD(parts.parameters(), lr=0.1)\n"
    "ids = torch.randint(1, 20, (4, 6))\n"
    "ids[2] = 0\n"
    "for step in range(2):\n"
    "    h = emb(ids)\n"
    "    pad = MASK\n"
    "    h = CALL\n"
    "    loss = h.pow(2).mean()\n" + LOOP
)
SCORES = "(q(h) @ k(h).transpose(1, 2))"
FILLED = f"{SCORES}.masked_fill(pad[:, None, :], float('-inf')).softmax(-1) @ v(h)"
WHERE = f"torch.where(~pad[:, None, :], {SCORES}, float('-inf')).softmax(-1) @ v(h)"
SDPA = "nn.functional.scaled_dot_product_attention(q(h), k(h), v(h), attn_mask=~pad[:, None, :])"
BIASED = SDPA.replace(
    "~pad[:, None, :]", "torch.zeros(4, 1, 6).masked_fill(pad[:, None, :], float('-inf'))"
)


@pytest.mark.parametrize(
    "ask, call",
    [(in_gradtrace, FILLED), (in_pytorch, FILLED), (in_pytorch, WHERE)],
    ids=["own", "torch", "where"],
)
def test_a_row_that_a_mask_leaves_nothing_of_is_named_by_its_mask(tmp_path, ask, call):
    path = tmp_path / "train.py"
    path.write_text(HEAD + ATTENTION.replace("MASK", "ids == 0").replace("CALL", call))
    answer = " ".join(ask(path, "why").split())
    assert re.search(
        r"on line 12 put it into all of them, by the mask (pad|ids == 0) on line 11\.", answer
    ), answer
    assert re.search("line 11 pad = ids == 0 (pad|ids == 0) leaves nothing of a row", answer), (
        answer
    )


@pytest.mark.parametrize("call", [SDPA, BIASED])
def test_zeros_of_an_attention_are_named_by_the_mask_that_hides_everything(tmp_path, call):
    path = tmp_path / "train.py"
    text = ATTENTION.replace("h.pow(2).mean()", "(h * h.detach().sum()).mean()").replace(
        "MASK", "ids < 99"
    )
    path.write_text(HEAD + text.replace("CALL", call))
    answer = " ".join(in_pytorch(path, "why").split())
    assert re.search(
        "everywhere: .* on line 1., the mask of scaled_dot_product_attention on line 12, hides",
        answer,
    )


DEEP = (
    "class Block(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.attention_output_projection = nn.Linear(8, 8)\n"
    "        self.intermediate_dense_projection = nn.Linear(8, 8)\n"
    "    def forward(self, x):\n"
    "        return x + self.intermediate_dense_projection(self.attention_output_projection(x).relu())\n"
    "model = nn.ModuleDict({'encoder': nn.ModuleList([Block(), Block()])})\n"
    "opt = torch.optim.AdamW(model.parameters(), lr=0.01)\n"
    "for step in range(2):\n"
    "    x = torch.randn(4, 8)\n"
    "    for block in model['encoder']:\n"
    "        x = block(x)\n"
    "    loss = x.pow(2).mean()\n" + LOOP
)


def test_names_of_a_deep_model_can_be_read(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(HEAD + DEEP)
    for lines in (in_gradtrace(path, "stats").splitlines(), in_pytorch(path, "stats").splitlines()):
        head = next(
            i for i, line in enumerate(lines) if line.startswith("parameter of model.encoder")
        )
        names = [line.split("  ")[0].strip() for line in lines[head + 2 : head + 8]]
        assert len(set(names)) == 6 and max(map(len, lines)) <= 100, lines
        assert all(name.startswith(("0.", "1.")) and len(name) > 30 for name in names), names
        node = next(i for i, line in enumerate(lines) if line.startswith("node"))
        shown = [line.split("  ")[0] for line in lines[node + 2 : node + 6]]
        assert len(set(shown)) == len(shown) and all(
            len(one) > 30 for one in shown if "…" in one
        ), shown


TWO_MASKS = (
    "pad = torch.tensor([False, True, True, True])\n"
    "causal = torch.ones(4, 4).tril().bool()\n"
    "masked = torch.randn(4, 4, requires_grad=True).masked_fill(~causal, float('-inf'))\n"
    "loss = torch.softmax(masked.masked_fill(~pad, float('-inf')), -1).square().sum()\n"
    "loss.backward()\n"
)


@pytest.mark.parametrize("ask", [in_gradtrace, in_pytorch])
def test_neither_of_two_masks_is_said_to_leave_nothing(tmp_path, ask):
    path = tmp_path / "train.py"
    path.write_text(HEAD + TWO_MASKS)
    answer = " ".join(ask(path, "why").split())
    assert "put it into some of them." in answer, answer
    assert "leaves nothing" not in answer and "by the mask" not in answer, answer


@pytest.mark.parametrize("ask", [in_gradtrace, in_pytorch])
def test_a_clip_of_some_parameters_is_not_why_all_stand_still(tmp_path, ask):
    path = tmp_path / "train.py"
    some = CLIPPED.replace("net.parameters(), NORM", "net[2].parameters(), 1e-9")
    path.write_text(HEAD + some.replace("OPTIMISER", "SGD(net.parameters(), lr=0.1)"))
    for command in ("why", "stats"):
        answer = " ".join(ask(path, command).split())
        assert "next to nothing" not in answer and "reduces the norm" not in answer, answer


PEAK = (
    "net = nn.Linear(4, 1)\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.01)\n"
    "schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 500.0 if 1 < step < 8 else 1.0)\n"
    "x, y = torch.randn(32, 4), torch.randn(32, 1)\n"
    "for step in range(9):\n"
    "    loss = nn.functional.mse_loss(net(x), y)\n" + LOOP + "    schedule.step()\n"
)


@pytest.mark.parametrize("ask", [in_gradtrace, in_pytorch])
def test_the_largest_learning_rate_is_named(tmp_path, ask):
    path = tmp_path / "train.py"
    path.write_text(HEAD + PEAK)
    answer = " ".join(ask(path, "why").split())
    assert (
        "diverges" in answer
        and "0.01 to 0.01" not in answer
        and re.search(r"lr up to 5|to 5\b", answer)
    ), answer
