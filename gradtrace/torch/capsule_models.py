"""The configuration of a model of transformers, with or without adapters of peft, from which it is
built again.
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from gradtrace.errors import UsageError
from gradtrace.lazy_names import words
from gradtrace.sandbox import confine, kernel
from gradtrace.trace import fields

ATTENTION = (None, "eager", "sdpa", "flex_attention", "flash_attention_2", "flash_attention_3")
# Of an adapter: what would load files, and how weights begin, which the capsule's state replaces.
LOADING = words("""tokenizer_name_or_path tokenizer_kwargs corda_config eva_config loftq_config init_lora_weights
    megatron_config megatron_core""")
REMEDY = "name a function that returns the model: --model module:function"


def config_of(model: Any) -> dict[str, Any]:
    """Return a model's configuration as JSON data; {} for a model that is not built from one
    alone.
    """
    peft = sys.modules.get("peft")
    adapters = {}
    if peft is not None and isinstance(model, peft.PeftModel):
        adapters = {name: plain(adapter.to_dict()) for name, adapter in model.peft_config.items()}
        model = model.get_base_model()
    transformers = sys.modules.get("transformers")
    if transformers is None or not isinstance(model, transformers.PreTrainedModel):
        return {}
    name = type(model).__name__
    if getattr(transformers, name, None) is not type(model) or getattr(
        model, "quantization_method", None
    ):
        return {}
    return {
        "class": name,
        "config": plain(model.config.to_dict()),
        "config_class": type(model.config).__name__,
        "attention": plain(model.config._attn_implementation),
        "adapters": adapters,
    }


def plain(value: Any) -> Any:
    """Return a configuration as JSON data; a set as a list, any other object as its text."""
    return json.loads(
        json.dumps(
            value,
            default=lambda element: sorted(element) if isinstance(element, set) else str(element),
        )
    )


def built(name: str, document: dict[str, Any]) -> Any:
    """Return the model of a capsule's configuration, with the dtypes of the capsule's state."""
    config = document["config"]
    if not config:
        raise UsageError(
            f"{name} has no configuration from which its model ({document['model']}) is built",
            REMEDY,
        )
    elements = sum(tensor.numel() for tensor in document["state"].values())
    try:
        importlib.import_module("transformers")
        model = in_locked_thread(lambda: from_config(config, elements))
    except Exception as error:
        raise UsageError(f"{name}: building {document['model']} failed: {error}", REMEDY) from error
    for key, tensor in (*model.named_parameters(), *model.named_buffers()):
        if key in document["state"]:
            tensor.data = tensor.data.to(document["state"][key].dtype)
    return model


def in_locked_thread(job: Callable[[], Any]) -> Any:
    """Return what `job` returns, called in a thread that opens no connection and no file outside of
    Python's folders.

    A configuration may name files and repositories of a hub, which the library would read. The
    kernel's rules hold for the thread alone; where the kernel has none, the library's own switches
    remain.
    """
    outcome: list[Any] = []

    def lock_and_work() -> None:
        try:
            folders = (*confine.python_folders(), *confine.SYSTEM.split(), *filter(None, sys.path))
            kernel.lock(kernel.Rights(folders))
            outcome.extend((job(), None))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=lock_and_work)
    thread.start()
    thread.join()
    returned, error = outcome
    if error is not None:
        raise error
    return returned


def from_config(described: dict[str, Any], elements: int) -> Any:
    """Return the model of a configuration. ValueError if it has more elements than the capsule's
    state.
    """
    transformers = importlib.import_module("transformers")
    kinds = [
        getattr(transformers, fields.text(described.get(key))) for key in ("class", "config_class")
    ]
    for kind, base in zip(
        kinds, (transformers.PreTrainedModel, transformers.PretrainedConfig), strict=True
    ):
        if not (isinstance(kind, type) and issubclass(kind, base)):
            raise TypeError(f"{kind} is not a class of models")
    config = kinds[1].from_dict(fields.mapped(described.get("config")))
    attention = described.get("attention")
    if attention not in ATTENTION:  # any other name would be looked up on the hub
        raise ValueError(f"its attention is {attention!r:.40}")
    with torch.device("meta"):
        bare = kinds[0]._from_config(copy.deepcopy(config), attn_implementation=attention)
    if sum(p.numel() for p in bare.parameters()) > elements:
        raise ValueError("its configuration is that of a larger model than its state")
    model: Any = kinds[0]._from_config(config, attn_implementation=attention)
    adapters = fields.mapped(described.get("adapters"))
    peft = importlib.import_module("peft") if adapters else None
    for index, (adapter, options) in enumerate(adapters.items()):
        plain_options = {
            key: option for key, option in fields.mapped(options).items() if key not in LOADING
        }
        if "prompt_tuning_init" in plain_options:
            plain_options["prompt_tuning_init"] = "RANDOM"
        adapter_config = peft.get_peft_config(plain_options)  # type: ignore[union-attr]
        if index:
            model.add_adapter(adapter, adapter_config)
        else:
            model = peft.get_peft_model(model, adapter_config, adapter_name=adapter)  # type: ignore[union-attr]
    return model
