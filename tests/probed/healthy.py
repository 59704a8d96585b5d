"""Models without a bug, of which no probe may say "wrong": functions of the engine, or of real PyTorch alone.

HEALTHY are for both engines, OF_TORCH for real PyTorch with other packages.
"""

from tests.probed.bugs import attention, healthy_mlp, images, model_of, sequences, vectors

HEALTHY = [healthy_mlp]
OF_TORCH = []


def healthy(make):
    HEALTHY.append(make)
    return make


def of_torch(make):
    OF_TORCH.append(make)
    return make


@healthy
def cnn_with_batch_norm(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(8, 3),
    )
    return (
        model,
        images(torch),
        nn.functional.cross_entropy,
        torch.optim.Adam(model.parameters(), lr=0.01),
    )


@healthy
def strided_convolution(torch):
    """The last row and column of the pictures are in no window."""
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))
    return model, images(torch), nn.functional.cross_entropy


@healthy
def lstm_classifier(torch):
    def build(self, nn):
        self.lstm = nn.LSTM(6, 16, batch_first=True)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        return self.b(self.lstm(x)[0][:, -1])

    return model_of(torch, build, forward), sequences(torch), torch.nn.functional.cross_entropy


@healthy
def time_first(torch):
    def build(self, nn):
        self.gru = nn.GRU(6, 16)
        self.b = nn.Linear(16, 1)

    def forward(self, x):
        return self.b(self.gru(x)[0]).squeeze(2)

    x = torch.randn(7, 5, 6)
    return model_of(torch, build, forward), (x, x.sum(2).sin()), torch.nn.functional.mse_loss


@healthy
def low_rank_adapter(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 32)
        self.down = nn.Linear(6, 4, bias=False)
        self.up = nn.Linear(4, 32, bias=False)
        self.b = nn.Linear(32, 3)
        nn.init.zeros_(self.up.weight)
        self.a.requires_grad_(False)
        self.b.requires_grad_(False)

    def forward(self, x):
        return self.b((self.a(x) + self.up(self.down(x))).tanh())

    return model_of(torch, build, forward), vectors(torch), torch.nn.functional.cross_entropy


@healthy
def head_of_zeros(torch):
    model, batch, loss = healthy_mlp(torch)
    torch.nn.init.zeros_(model.b.weight)
    torch.nn.init.zeros_(model.b.bias)
    return model, batch, loss


@healthy
def mask_respected(torch):
    return attention(torch, lambda mask: mask == 0)


@healthy
def causal_language_model(torch):
    def build(self, nn):
        self.tokens = nn.Embedding(11, 16)
        self.places = nn.Embedding(8, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.b = nn.Linear(16, 11)

    def forward(self, tokens):
        mask = torch.triu(torch.ones(8, 8), diagonal=1) == 1
        h = self.tokens(tokens) + self.places(torch.arange(8))
        return self.b(self.encoder(h, mask=mask))

    def loss_of(model, batch):
        output = model(batch)
        return torch.nn.functional.cross_entropy(
            output[:, :-1].flatten(0, 1), batch[:, 1:].flatten()
        )

    tokens = torch.arange(32).reshape(4, 8) * 7 % 11
    return model_of(torch, build, forward), tokens, loss_of


@healthy
def regression_far_from_zero(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
    return model, (torch.randn(8, 6), 300 + 20 * torch.randn(8)), nn.MSELoss()


@healthy
def autoencoder(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 6))
    x, _ = vectors(torch)
    return model, (x, x), nn.MSELoss(), torch.optim.Adam(model.parameters(), lr=0.01)


@healthy
def variational_autoencoder(torch):
    def build(self, nn):
        self.encoder = nn.Linear(6, 8)
        self.decoder = nn.Linear(4, 6)

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, dim=1)
        noise = torch.randn(mean.shape) if self.training else 0
        return self.decoder(mean + (0.5 * spread).exp() * noise), mean, spread

    def loss_of(model, x):
        output, mean, spread = model(x)
        divergence = -0.5 * (1 + spread - mean**2 - spread.exp()).sum(1).mean()
        return ((output - x) ** 2).sum(1).mean() + divergence

    return model_of(torch, build, forward), vectors(torch)[0], loss_of


@healthy
def graph_convolution(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x, adjacency):
        return self.b(adjacency @ self.a(x).relu())

    x, y = vectors(torch)
    adjacency = torch.eye(8) * 0.5 + torch.eye(8).roll(1, 0) * 0.5
    return model_of(torch, build, forward), ((x, adjacency), y), torch.nn.functional.cross_entropy


@healthy
def layer_norm_and_residuals(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6)
        self.b = nn.Linear(6, 1)

    def forward(self, x):
        return self.b(self.norm(x + self.a(x).relu())).squeeze(1)

    x = torch.randn(8, 6)
    target = (torch.arange(8) % 2).float()
    return model_of(torch, build, forward), (x, target), torch.nn.BCEWithLogitsLoss()


def tokens_of(torch, count=3, length=8, most=60):
    ids = torch.arange(count * length).reshape(count, length) * 7 % most + 1
    mask = (torch.arange(length) < length - 2).long().expand(count, length)
    return ids, mask


@of_torch
def bert(torch):
    import transformers

    config = transformers.BertConfig(
        vocab_size=64,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    ids, mask = tokens_of(torch)
    batch = {"input_ids": ids, "attention_mask": mask, "labels": torch.arange(3) % 2}
    return transformers.BertForSequenceClassification(config).train(), batch


@of_torch
def bert_without_padding(torch):
    import transformers

    config = transformers.BertConfig(
        vocab_size=64,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    ids, mask = tokens_of(torch)
    batch = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(mask),
        "token_type_ids": torch.zeros_like(ids),
        "labels": ids,
    }
    return transformers.BertForMaskedLM(config).train(), batch


@of_torch
def gpt2(torch):
    import transformers

    config = transformers.GPT2Config(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=16)
    ids, mask = tokens_of(torch)
    batch = {"input_ids": ids, "attention_mask": mask, "labels": ids}
    return transformers.GPT2LMHeadModel(config).train(), batch


@of_torch
def llama_with_adapters(torch):
    import peft
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    ids, _ = tokens_of(torch)
    model = peft.get_peft_model(
        transformers.LlamaForCausalLM(config), peft.LoraConfig(task_type="CAUSAL_LM")
    )
    return model.train(), {"input_ids": ids, "labels": ids}


@of_torch
def t5(torch):
    import transformers

    config = transformers.T5Config(
        vocab_size=64,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
    )
    ids, mask = tokens_of(torch)
    batch = {"input_ids": ids, "attention_mask": mask, "labels": ids[:, :5]}
    return transformers.T5ForConditionalGeneration(config).train(), batch


@of_torch
def vision_transformer(torch):
    import transformers

    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=10,
        patch_size=4,
        num_labels=3,
    )
    x, y = images(torch)
    x = torch.nn.functional.pad(x, (1, 1, 1, 1))
    return transformers.ViTForImageClassification(config).train(), {"pixel_values": x, "labels": y}


@of_torch
def resnet(torch):
    import transformers

    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3
    )
    model = transformers.ResNetForImageClassification(config).train()
    x, y = images(torch)
    return model, {"pixel_values": x.repeat(1, 1, 4, 4), "labels": y}


@of_torch
def encoder_with_key_padding_mask(torch):
    def build(self, nn):
        layer = nn.TransformerEncoderLayer(6, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.b = nn.Linear(6, 3)

    def forward(self, src, src_key_padding_mask):
        kept = ~src_key_padding_mask.unsqueeze(2)
        h = self.encoder(src, src_key_padding_mask=src_key_padding_mask)
        return self.b((h * kept).sum(1) / kept.sum(1))

    x, y = sequences(torch)
    mask = (torch.arange(7) >= 5).expand(5, 7)
    batch = {"src": x, "src_key_padding_mask": mask}, y
    return model_of(torch, build, forward), batch, torch.nn.functional.cross_entropy
