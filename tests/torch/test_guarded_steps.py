"""A guarded training is the same training: its whole state after a bad step, compared with the unguarded one's."""

import inspect
import io
import random

import pytest

torch = pytest.importorskip("torch")
import gradtrace.torch as gt  # noqa: E402
from tests.torch import guarded_steps  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("forkable")]
NOT_REPEATED = {
    "generator": "takes values from batches, which is an iterator",
    "loader": "takes values from batches, which is an iterator",
    "pool": "uses the threads of workers, which are lost in a copy of the process",
}
FAILS = {"temporary_folder": "PermissionError: a copy of the process may not do this (os.mkdir)"}


def training(shape, folder, guarded):
    """The state after some steps, of which one is bad, and what the guard wrote."""
    folder.mkdir()
    torch.manual_seed(3)
    random.seed(3)
    step, state = shape(folder)
    told = io.StringIO()
    run = gt.guard(step, out=told) if guarded else step
    results = [run(scale) for scale in guarded_steps.SCALES]
    return flat([results, state(), torch.get_rng_state(), random.getstate()]), told.getvalue(), run


def flat(value):
    """The values in nested dicts and lists, tensors as bytes."""
    if isinstance(value, dict):
        return [
            x
            for key, part in value.items()
            for x in [key if isinstance(key, str) else "", *flat(part)]
        ]
    if isinstance(value, list | tuple):
        return [x for part in value for x in flat(part)]
    if isinstance(value, torch.Tensor):
        return [
            str(value.dtype),
            *value.shape,
            value.detach().contiguous().flatten().view(torch.uint8).tolist(),
        ]
    return [repr(value)]


def bad_line(shape):
    """The line of a shape that is marked `# bad`."""
    text, first = inspect.getsourcelines(
        guarded_steps.Trainer.step if shape is guarded_steps.method else shape
    )
    return next(
        (first + number for number, line in enumerate(text) if line.endswith("# bad\n")), None
    )


@pytest.mark.parametrize("shape", guarded_steps.SHAPES, ids=lambda shape: shape.__name__)
def test_a_guarded_training_ends_in_the_same_state(shape, tmp_path, capfd):
    wanted, _, _ = training(shape, tmp_path / "alone", guarded=False)
    printed = capfd.readouterr()
    found, told, run = training(shape, tmp_path / "guarded", guarded=True)
    assert found == wanted
    assert capfd.readouterr() == printed
    assert told.count("is not finite; ") == 1, told
    if shape.__name__ in NOT_REPEATED:
        assert NOT_REPEATED[shape.__name__] in told
        assert (
            "model.4.weight: 16 of 16 elements NaN" in told
            or "model.0.weight: 32 of 32 elements NaN" in told
        )
        assert run.guard.recorded is None
    elif shape.__name__ in FAILS:
        assert FAILS[shape.__name__] in told
        assert "without success. What is known without it: 6 of 6 gradients are not finite" in told
    else:
        assert f"log on line {bad_line(shape)}" in told.replace("\n", " "), told
        assert "the repetition gave another loss" not in told
        assert run.guard.recorded.trace().operations
