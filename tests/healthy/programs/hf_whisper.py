import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

torch.manual_seed(0)
config = WhisperConfig(
    vocab_size=40, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=8, max_target_positions=8,
    pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
)  # fmt: skip
model = WhisperForConditionalGeneration(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    loss = model(input_features=torch.randn(2, 8, 16), labels=torch.randint(3, 40, (2, 5))).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
