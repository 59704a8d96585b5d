"""Models of text and sequences. Those of Hugging Face are made from a config; nothing is downloaded."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.torch.models.case import Case, train

VOCABULARY = 97


def tokens(batch: int = 2, length: int = 16) -> torch.Tensor:
    return torch.randint(1, VOCABULARY, (batch, length))


def small_gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=32,
            n_embd=32,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
            use_cache=False,
        )
    )


def gpt2() -> Case:
    torch.manual_seed(0)
    model = small_gpt2().train()
    text = tokens()
    return train(model, lambda: model(input_ids=text, labels=text).loss)


def bert() -> Case:
    """Masked language modelling with padding."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    model = BertForMaskedLM(config).train()
    text = tokens()
    seen = torch.ones_like(text)
    seen[1, 10:] = 0
    labels = text.masked_fill(torch.rand(text.shape) > 0.3, -100)
    return train(model, lambda: model(input_ids=text, attention_mask=seen, labels=labels).loss)


def t5() -> Case:
    """Encoder and decoder with relative positions and cross-attention."""
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    model = T5ForConditionalGeneration(config).train()
    source, target = tokens(), tokens(length=8)
    return train(model, lambda: model(input_ids=source, labels=target).loss, torch.optim.Adam)


def lora() -> Case:
    """Low-rank adapters by peft on a frozen GPT-2, with gradient checkpointing."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    base = small_gpt2()
    adapters = LoraConfig(
        r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["c_attn"], fan_in_fan_out=True
    )
    model = get_peft_model(base, adapters).train()
    base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    text = tokens()
    return train(model, lambda: model(input_ids=text, labels=text).loss)


class Tagger(nn.Module):
    """A bidirectional LSTM over packed sequences, with a tag for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 12, num_layers=2, bidirectional=True, dropout=0.2, batch_first=True)
        self.head = nn.Linear(24, 5)

    def forward(self, text: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(text), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(states)


def lstm() -> Case:
    torch.manual_seed(0)
    model, text, lengths = Tagger(), tokens(4, 10), torch.tensor([7, 10, 3, 9])
    tags = torch.randint(0, 5, (4, 10))

    def loss_of() -> torch.Tensor:
        loss = F.cross_entropy(model(text, lengths).flatten(0, 1), tags.flatten())
        return loss + 1e-4 * sum(p.pow(2).sum() for p in model.parameters())

    return train(model, loss_of, torch.optim.RMSprop)


class Experts(nn.Module):
    """A feed-forward layer of which each token uses two of four experts, with the load-balancing loss."""

    def __init__(self, width: int = 16, experts: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
            for _ in range(experts)
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = x.flatten(0, -2)
        probabilities = self.router(rows).softmax(-1)
        weights, chosen = probabilities.topk(2, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == number)
            out.index_add_(0, token, expert(rows[token]) * weights[token, slot, None])
        used = F.one_hot(chosen, len(self.experts)).float().mean((0, 1))
        return out.view_as(x), len(self.experts) * (used * probabilities.mean(0)).sum()


def mixture_of_experts() -> Case:
    torch.manual_seed(0)
    embed, layer, head = nn.Embedding(VOCABULARY, 16), Experts(), nn.Linear(16, VOCABULARY)
    model = nn.ModuleList([embed, layer, head])
    text = tokens(2, 12)

    def loss_of() -> torch.Tensor:
        h = embed(text[:, :-1])
        mixed, balance = layer(h)
        return (
            F.cross_entropy(head(h + mixed).flatten(0, 1), text[:, 1:].flatten()) + 0.01 * balance
        )

    return train(model, loss_of)
