"""Models with one silent bug each, for both engines: a function of the engine returns the arguments of `check_model`.

BUGS has the code of the probe that must find the bug, and a text of its sentence.
"""

BUGS = {}


def bug(code, text):
    def add(make):
        BUGS[make.__name__] = (make, code, text)
        return make

    return add


def model_of(torch, build, forward):
    """A module whose parts `build` makes and whose forward is the function `forward(self, ...)`."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            build(self, torch.nn)

    Net.forward = forward
    return Net()


def images(torch, count=6):
    return torch.rand(count, 3, 8, 8), torch.arange(count) % 3


def vectors(torch, count=8):
    return torch.randn(count, 6), torch.arange(count) % 3


def sequences(torch, count=5):
    return torch.randn(count, 7, 6), torch.arange(count) % 3


@bug("samples", "first in the result of b")
def view_for_transpose(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 12)
        self.b = nn.Linear(12, 3)

    def forward(self, x):
        h = self.a(x).tanh()
        return self.b(h.view(h.shape[1], h.shape[0], -1).transpose(0, 1).mean(1))

    return model_of(torch, build, forward), sequences(torch), torch.nn.functional.cross_entropy


@bug("samples", "first in the result of b")
def softmax_over_the_batch(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 12)
        self.b = nn.Linear(12, 3)

    def forward(self, x):
        return self.b(torch.softmax(self.a(x), dim=0))

    return model_of(torch, build, forward), vectors(torch), torch.nn.functional.cross_entropy


@bug("samples", "first in the result of b")
def normalised_by_hand(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 12)
        self.b = nn.Linear(12, 1)

    def forward(self, x):
        h = self.a(x).tanh()
        return self.b((h - h.mean()) / h.std()).squeeze(1)

    return model_of(torch, build, forward), (torch.randn(8, 6), torch.randn(8)), torch.nn.MSELoss()


@bug("samples", "first in the result of lstm (LSTM)")
def lstm_without_batch_first(torch):
    def build(self, nn):
        self.lstm = nn.LSTM(6, 8)
        self.b = nn.Linear(8, 3)

    def forward(self, x):
        return self.b(self.lstm(x)[0][:, -1])

    return model_of(torch, build, forward), sequences(torch), torch.nn.functional.cross_entropy


@bug("samples", "in evaluation mode")
def batch_norm_without_statistics(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.ReLU(), nn.Linear(8, 3)
    )
    return model, vectors(torch), nn.functional.cross_entropy


@bug("inputs", "1 of 6 entries along axis 1 of x have no influence on any result: 5")
def last_feature_cut_off(torch):
    def build(self, nn):
        self.a = nn.Linear(5, 8)
        self.b = nn.Linear(8, 3)

    def forward(self, x):
        return self.b(self.a(x[:, :-1]).tanh())

    return model_of(torch, build, forward), vectors(torch), torch.nn.functional.cross_entropy


@bug("inputs", "other values in lengths change the results by 0")
def unused_input(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 8)
        self.b = nn.Linear(8, 3)

    def forward(self, x, lengths):
        return self.b(self.a(x).tanh())

    x, y = vectors(torch)
    batch = ((x, torch.rand(8)), y)
    return model_of(torch, build, forward), batch, torch.nn.functional.cross_entropy


@bug("inputs", "6 of 7 entries along axis 1 of x")
def first_state_for_last(torch):
    def build(self, nn):
        self.lstm = nn.LSTM(6, 8, batch_first=True)
        self.b = nn.Linear(8, 3)

    def forward(self, x):
        return self.b(self.lstm(x)[0][:, 0])

    return model_of(torch, build, forward), sequences(torch), torch.nn.functional.cross_entropy


def attention(torch, change):
    def build(self, nn):
        self.embedding = nn.Embedding(11, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.b = nn.Linear(8, 3)

    def forward(self, tokens, attention_mask):
        h = self.embedding(tokens)
        mask = change(attention_mask)
        return self.b(h + self.attention(h, h, h, key_padding_mask=mask)[0])

    tokens = torch.arange(40).reshape(5, 8) * 7 % 10 + 1
    mask = (torch.arange(8) < 6).expand(5, 8).long()
    labels = tokens % 3
    loss = lambda output, target: torch.nn.functional.cross_entropy(output.flatten(0, 1), target)
    batch = ({"tokens": tokens * mask, "attention_mask": mask}, labels.flatten())
    return model_of(torch, build, forward), batch, loss


@bug("masks", "it is inverted")
def mask_inverted(torch):
    return attention(torch, lambda mask: mask == 1)


@bug("masks", "what attention_mask excludes (by 0) changes the other results")
def mask_ignored(torch):
    return attention(torch, lambda mask: None)


@bug("flags", "model.a.weight.require_grad = False: PyTorch does not read it")
def flag_misspelt(torch):
    model, batch, loss = healthy_mlp(torch)
    model.a.weight.require_grad = False
    return model, batch, loss


@bug("flags", "model.a.requires_grad = False: PyTorch does not read it")
def flag_of_a_module(torch):
    model, batch, loss = healthy_mlp(torch)
    model.a.requires_grad = False
    return model, batch, loss


@bug("repeated", "two calls in evaluation mode differ")
def dropout_forever(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 32)
        self.b = nn.Linear(32, 3)

    def forward(self, x):
        return self.b(torch.nn.functional.dropout(self.a(x).tanh(), 0.5))

    return model_of(torch, build, forward), vectors(torch), torch.nn.functional.cross_entropy


@bug("first loss", "beside 1.1, that of equal probabilities")
def last_layer_too_large(torch):
    model, batch, loss = healthy_mlp(torch)
    with torch.no_grad():
        model.b.weight.mul_(60)
    return model, batch, loss


@bug("inputs", "other values in x change the results by 0")
def softmax_of_one(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
        return torch.softmax(self.b(self.a(x).tanh()), dim=1).squeeze(1)

    target = (torch.arange(8) % 2).float()
    return model_of(torch, build, forward), (torch.randn(8, 6), target), torch.nn.BCELoss()


@bug("gradients", "a.weight, a.bias get no gradient and change the loss")
def encoder_detached(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        return self.b(self.a(x).tanh().detach())

    return model_of(torch, build, forward), vectors(torch), torch.nn.functional.cross_entropy


@bug("learning", "goes from")
def softmax_twice(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        return torch.softmax(self.b(self.a(x).tanh()), 1)

    return model_of(torch, build, forward), vectors(torch), torch.nn.functional.cross_entropy


@bug("learning", "goes from")
def target_broadcast(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    return model, (torch.randn(8, 6), torch.randn(8)), lambda out, y: ((out - y) ** 2).mean()


@bug("learning", "(SGD)")
def rate_too_small(torch):
    model, batch, loss = healthy_mlp(torch)
    return model, batch, loss, torch.optim.SGD(model.parameters(), lr=1e-7)


def healthy_mlp(torch):
    def build(self, nn):
        self.a = nn.Linear(6, 32)
        self.b = nn.Linear(32, 3)

    def forward(self, x):
        return self.b(self.a(x).tanh())

    return model_of(torch, build, forward), vectors(torch), torch.nn.functional.cross_entropy
