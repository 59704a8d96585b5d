"""torch.save and torch.load, with PyTorch's files both ways."""

import importlib
import io
import os
import pickle

import pytest

import gradtrace as torch
from gradtrace.program.modules import installed


def checkpoint(library):
    """Return tensors of many kinds, of gradtrace or PyTorch."""
    base = library.arange(6.0)
    return {
        "base": base,
        "part": base[2:4],
        "transposed": base.view(2, 3).t(),
        "number": library.tensor(2.5, dtype=library.float64),
        "flags": library.tensor([True, False]),
        "empty": library.empty(0, 3),
        "leaf": library.ones(2, requires_grad=True),
        "parameter": library.nn.Parameter(library.ones(2)),
        "size": library.Size([1, 2]),
        "dtype": library.float16,
        "device": library.device("cpu"),
        "plain": [1, 2.5, None, (True, "text")],
        "state": library.nn.Linear(2, 1).state_dict().keys(),
    }


def plain(library):
    """Return a checkpoint without what only `weights_only=False` loads."""
    return {key: value for key, value in checkpoint(library).items() if key != "state"}


def saved(library, obj):
    """Return a binary file with an object."""
    file = io.BytesIO()
    library.save(obj, file)
    file.seek(0)
    return file


def test_a_checkpoint_is_what_was_saved():
    loaded = torch.load(saved(torch, plain(torch)))
    assert repr(loaded) == repr(plain(torch))
    assert loaded["dtype"] is torch.float16
    assert type(loaded["parameter"]) is torch.nn.Parameter


def test_tensors_of_one_storage_share_it_again():
    loaded = torch.load(saved(torch, plain(torch)))
    loaded["base"][2] = 9
    assert loaded["part"][0] == 9
    assert loaded["transposed"][2, 0] == 9


@pytest.mark.parametrize("writer_is_pytorch", [True, False])
def test_pytorch_and_gradtrace_read_the_same_files(writer_is_pytorch):
    pytorch = pytest.importorskip("torch")
    writer, reader = (pytorch, torch) if writer_is_pytorch else (torch, pytorch)
    assert repr(reader.load(saved(writer, plain(writer)))) == repr(plain(reader))


@pytest.mark.parametrize("writer_is_pytorch", [True, False])
def test_whole_modules_pass_between_pytorch_and_gradtrace(writer_is_pytorch):
    pytorch = pytest.importorskip("torch")
    writer, reader = (pytorch, torch) if writer_is_pytorch else (torch, pytorch)
    model = writer.nn.Sequential(writer.nn.Linear(2, 3), writer.nn.BatchNorm1d(3), writer.nn.ReLU())
    loaded = reader.load(saved(writer, model), weights_only=False)
    assert repr(loaded) == repr(model)
    x = [[1.0, 2.0], [3.0, 5.0]]
    expected = model(writer.tensor(x)).flatten().tolist()
    assert loaded(reader.tensor(x)).flatten().tolist() == pytest.approx(expected, abs=1e-4)


class Own:
    """A class that is not allowed in a file of weights."""


def test_a_file_of_weights_holds_nothing_else():
    with pytest.raises(
        pickle.UnpicklingError, match=r"GLOBAL .*Own was not an allowed global by default"
    ):
        torch.load(saved(torch, {"own": Own()}))
    assert type(torch.load(saved(torch, {"own": Own()}), weights_only=False)["own"]) is Own


def test_classes_can_be_allowed():
    serialization = importlib.import_module("gradtrace.utils.serialization")
    with serialization.safe_globals([Own]):
        assert type(torch.load(saved(torch, Own()))) is Own
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(torch, Own()))


def test_code_in_a_file_of_weights_does_not_run():
    class Attack:
        def __reduce__(self):
            return print, ("the file ran code",)

    with pytest.raises(pickle.UnpicklingError, match=r"builtins.print|__builtin__.print"):
        torch.load(saved(torch, Attack()))


@pytest.mark.parametrize("place", ["cuda", {"cpu": "cuda:0"}, torch.device("cuda", 1)])
def test_tensors_stay_on_the_cpu(place):
    with pytest.raises(RuntimeError):
        torch.load(saved(torch, torch.ones(1)), map_location=place)


def test_errors_of_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        torch.save({}, tmp_path / "missing" / "file.pt")
    (tmp_path / "text.pt").write_text("no checkpoint")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "text.pt")


def test_a_program_that_may_not_write_keeps_checkpoints_in_memory(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    told = []
    with installed(told.append):
        library = importlib.import_module("torch")
        monkeypatch.setattr("gradtrace.utils.serialization.open", refuse, raising=False)
        for _ in range(2):
            library.save({"a": library.ones(2)}, tmp_path / "file.pt")
        assert library.load(str(tmp_path / "file.pt"))["a"].tolist() == [1, 1]
        assert os.path.exists(tmp_path / "file.pt")
        os.remove(tmp_path / "file.pt")
        assert not os.path.isfile(tmp_path / "file.pt")
    assert len(told) == 1 and "memory" in told[0]
