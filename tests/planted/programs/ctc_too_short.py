# engine: torch
# cause: the second transcript has 9 labels and only 6 frames, so no alignment exists and its CTC loss is inf
# line: loss = ctc(log_probs, targets, frames, lengths)
# line: frames = torch.tensor([20, 6, 20])
# must: ctc
# must: inf
# from: https://github.com/wenet-e2e/wenet/pull/2299
import torch
import torch.nn as nn

torch.manual_seed(0)


class Acoustic(nn.Module):
    def __init__(self, mels=8, labels=12):
        super().__init__()
        self.lstm, self.out = nn.LSTM(mels, 16, bidirectional=True), nn.Linear(32, labels)

    def forward(self, x):
        return self.out(self.lstm(x)[0]).log_softmax(-1)


model, ctc = Acoustic(), nn.CTCLoss(blank=0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
audio = torch.randn(20, 3, 8)
frames = torch.tensor([20, 6, 20])
targets, lengths = torch.randint(1, 12, (3, 9)), torch.tensor([7, 9, 8])
log_probs = model(audio)
loss = ctc(log_probs, targets, frames, lengths)
optimizer.zero_grad()
loss.backward()
optimizer.step()
