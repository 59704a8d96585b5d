import math
import torch
from torch import nn, Tensor


class PositionalEncoding(nn.Module):

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


def generate_square_subsequent_mask(sz: int) -> Tensor:
    return torch.triu(torch.ones(sz, sz) * float('-inf'), diagonal=1)


class TransformerModel(nn.Module):
    def __init__(self, ntoken=11, d_model=8, nhead=2, d_hid=16, nlayers=2, dropout=0.2):
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        layer = nn.TransformerEncoderLayer(d_model, nhead, d_hid, dropout)
        self.transformer_encoder = nn.TransformerEncoder(layer, nlayers, enable_nested_tensor=False)
        self.encoder = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.decoder = nn.Linear(d_model, ntoken)

    def forward(self, src, src_mask):
        src = self.pos_encoder(self.encoder(src) * math.sqrt(self.d_model))
        return self.decoder(self.transformer_encoder(src, src_mask))


torch.manual_seed(0)
model = TransformerModel()
mask = generate_square_subsequent_mask(6)
print(mask[:2])
src = torch.arange(12).view(6, 2) % 11
model.eval()
out = model(src, mask)
print(out.shape, ' '.join(f'{v:.4f}' for v in out[0, 0]))
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
print(model.transformer_encoder.layers[0].self_attn)
