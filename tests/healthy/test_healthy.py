"""Training runs in which nothing is wrong: no answer about them accuses anything, and recording them changes nothing.

A program of `programs/` is in the table with what the answer of `why` must say of it. `NEVER` has what no answer about
any of them may say. Programs with another library are skipped where it is not installed.
"""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

PROGRAMS = Path(__file__).parent / "programs"
LEVELS = ("structure", "summary", "compare", "values")
# by the first word of a program's name: the packages that it needs besides PyTorch
NEEDS = {
    **{
        "hf": ("transformers",),
        "peft": ("peft", "transformers"),
        "timm": ("timm",),
        "geometric": ("torch_geometric",),
    },
    **{
        name: (name,)
        for name in (
            "botorch",
            "diffusers",
            "gpytorch",
            "lightning",
            "pyro",
            "torchdiffeq",
            "torchvision",
        )
    },
}
NEVER_WHY = r"diverges|vanishes|explodes|never used|instead of torch|Python number|through \.data|To fix it|not tried"
NEVER_STATS = r"diverging|vanishing|exploding|first bad|not finite|\binf\b|\bInf\b"
# what `why` says: the number of steps, the parameters, a remark; then names to ask about, with what is said of each
TABLE = {
    "accumulation": (r"2 steps, loss .* all 4 parameters have gradients", {}),
    "attention_masked_row": (r"3 steps, loss .* all 9 parameters", {}),
    "botorch_acquisition": (r"3 steps, loss .* the parameter has a gradient", {"candidates": "from backward"}),
    "causal_attention": (r"3 steps, loss .* all 73 parameters", {}),
    "data_assigned": (r"5 steps, loss .* 2 parameters changed by SGD and by nothing else", {}),
    "data_updated_by_hand": (r"5 steps, loss .* all 4 parameters have gradients", {}),
    "checkpointing": (r"3 steps, loss .* all 8 parameters", {}),
    "compile": (r"3 steps, loss .* all 4 parameters have gradients", {}),
    "diffusers_unet": (
        r"2 steps, loss .* all 144 parameters",
        {"model.time_embedding.linear_2.bias": r"and then clip_grad_norm_ on line 19.*line 16, in UNet2DModel \(embed"},
    ),
    "ema_by_deepcopy": (r"6 parameters of ema\.0, ema\.1 and ema\.3 do", {"goal": r"ema\.\d\.\w+, whose requires"}),
    "gan": (r"4 steps, g_loss .* all 8 par", {"D.0.weight": r"2 passes added up since it was cleared on line 13"}),
    "gaussian_likelihood": (r"12 steps, loss 0\.006208 -> -1\.089", {}),
    "geometric_gcn": (r"3 steps, loss .* all 8 parameters", {"model.conv2.bias": "from backward on line 29"}),
    "gpytorch_regression": (r"3 steps, loss .* all 4 parameters", {"y": "nothing that it was computed from"}),
    "grad_scaler": (r"3 steps, loss .* all 4 parameters", {}),
    "hf_bert": (r"2 steps, loss .* all 41 parameters", {}),
    "hf_bert_padded": (r"3 steps, loss .* all 41 parameters", {}),
    "hf_clip": (r"2 steps, loss .* all 46 parameters", {"out.text_embeds": "non-leaf"}),
    "hf_gpt2": (r"2 steps, loss .* all 28 parameters", {}),
    "hf_llama": (r"2 steps, loss .* all 21 parameters", {}),
    "hf_llama_resized": (r"4 steps, loss .* all 20 parameters", {}),
    "hf_t5": (r"2 steps, loss .* all 47 parameters", {}),
    "hf_vit": (r"2 steps, loss .* all 40 parameters", {}),
    "hf_whisper": (r"2 steps, loss .* all 49 parameters", {}),
    "lbfgs": (r"3 steps, loss .* all 2 parameters", {}),
    "lightning_module": (r"3 steps, loss .* all 4 parameters", {}),
    "loop_over_parameters": (r"3 steps, loss .* all 4 parameters", {"x": "requires grad", "model.2.bias": "backward"}),
    "lora_first_step": (r"0 until an update of model\.0\.lora_B", {"model.0.lora_A": r"an update of model\.0\.lora_B"}),
    "lstm_language_model": (r"3 steps, loss .* all 11 parameters", {}),
    "margin_reached": (r"30 steps, loss .* all 5 parameters", {"net.1.weight": "relu on line 23 lets nothing back"}),
    "moe_idle_expert": (r"No operation of these steps reads net\.0\.experts\.0\.weight and", {}),
    "neural_ode": (r"3 steps, loss .* all 4 parameters", {}),
    "peft_lora": (r"all 10 parameters .* until an update of .*lora_B.* 41 parameters of base\.bert and", {}),
    "pyro_svi": (r"3 steps, loss .* all 3 parameters", {}),
    "reinforce": (r"3 steps, loss .* all 8 parameters", {"returns": r"line 22 +returns = torch\.tensor"}),
    "simclr": (r"3 steps, loss .* all 6 parameters", {}),
    "soft_actor_critic": (
        r"4 steps, alpha_loss -1\.072 -> 0\.874, critic_loss .* actor_loss .* all 5 parameters",
        {"actor_loss": r"line 38 actor_loss\.backward\(\) backward runs from actor_loss"},
    ),
    "swa": (r"6 steps, loss .* all 6 parameters", {"model.0.bias": "before batch_norm .* does not change its result"}),
    "target_network": (r"3 steps, loss .* all 2 parameters", {"goal": r"target\.weight through linear on line 11"}),
    "timm_convnext": (r"2 steps, loss", {}),
    "timm_efficientnet": (r"2 steps, loss .* all 44 parameters", {}),
    "timm_resnet": (r"2 steps, loss .* all 62 parameters", {}),
    "timm_swin": (r"2 steps, loss .* all 63 parameters", {}),
    "torchdiffeq_ode": (
        r"3 steps, loss .* all 4 parameters",
        {"field.net.2.bias": r"from backward on line 26\..*line 26 +loss\.backward"},
    ),
    "torchvision_detection": (r"2 steps, loss .* all 18 parameters", {}),
    "torchvision_segmentation": (r"2 steps, loss .* all 16 parameters", {}),
    "vae": (r"4 steps, loss .* all 10 parameters", {}),
    "wgan_critic": (r"10 steps, loss 0\.002109 -> -437\.5", {"D.2.bias": "cancels out"}),
    "zero_init_residual": (r"12 parameters of model\.1 and model\.2 is 0 until an update of model\.1\.bn2", {}),
}  # fmt: skip
every_program = pytest.mark.parametrize("name", TABLE)
pytestmark = pytest.mark.filterwarnings("ignore")


def importable(library):
    """Import a library, or skip the test. A torchvision of another version of PyTorch raises RuntimeError."""
    try:
        pytest.importorskip(library, exc_type=ImportError)
    except RuntimeError as error:
        pytest.skip(f"{library}: {error}")


def run(name, record=None):
    """Run a program, recorded or not, and return its variables."""
    for library in NEEDS.get(name.partition("_")[0], ()):
        importable(library)
    return execute(PROGRAMS / f"{name}.py", record)


def execute(path, record=None):
    """Run a file, recorded or not, as `python FILE` does, and return its variables."""
    env = {"__name__": "__main__", "__file__": str(path)}
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
    if record is not None:
        record._main, record._env = str(path), env
    torch.set_num_threads(1)
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        record or contextlib.nullcontext(),
    ):
        warnings.simplefilter("ignore")
        exec(code, env)
    return env


def state(env):
    """The bytes of each tensor of a program's modules, of their gradients, and of the random state."""
    found = {"random state": torch.get_rng_state()}
    for name, value in env.items():
        if isinstance(value, torch.nn.Module):
            found |= {f"{name}.{key}": tensor for key, tensor in value.state_dict().items()}
            found |= {
                f"{name}.{key}.grad": p.grad
                for key, p in value.named_parameters()
                if p.grad is not None
            }
        elif isinstance(value, torch.Tensor):
            found[name] = value
        elif isinstance(value, float):
            found[name] = torch.tensor(value, dtype=torch.float64)
    return {
        name: (tuple(t.shape), t.detach().contiguous().numpy().tobytes())
        for name, t in found.items()
    }


@pytest.mark.sampled(6)
@every_program
def test_no_answer_accuses_a_run_that_is_right(name):
    said, asked = TABLE[name]
    record = gt.record()
    run(name, record)
    answer = " ".join(record.why().split())
    assert answer.startswith("Checked") and re.search(said, answer), answer
    assert len(answer) < 1500 and not re.search(NEVER_WHY, answer), answer
    shown = record.stats()
    assert not re.search(NEVER_STATS, shown), shown
    for tensor, words in asked.items():
        assert re.search(words, " ".join(record.why(tensor).split())), record.why(tensor)


@pytest.mark.sampled(6)
@every_program
def test_recording_it_changes_nothing(name):
    wanted = state(run(name))
    for level in LEVELS:
        found = state(run(name, gt.record(level)))
        assert found.keys() == wanted.keys()
        assert [key for key in wanted if found[key] != wanted[key]] == [], level


def test_every_program_is_in_the_table():
    assert sorted(TABLE) == sorted(path.stem for path in PROGRAMS.glob("*.py"))
