# engine: torch
# needs: transformers
# cause: a subclass of T5 detaches what the encoder gives
# line: encoded.last_hidden_state = encoded.last_hidden_state.detach()
# must: detach
# must: None|no gradient
# never: never used|vanishes
import torch
from transformers import T5Config, T5ForConditionalGeneration
torch.manual_seed(0)


class Frozen(T5ForConditionalGeneration):
    def forward(self, input_ids, labels):
        encoded = self.encoder(input_ids=input_ids)
        encoded.last_hidden_state = encoded.last_hidden_state.detach()
        return super().forward(encoder_outputs=encoded, labels=labels)


sizes = dict(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_heads=2)
config = T5Config(**sizes, num_layers=1, num_decoder_layers=1, decoder_start_token_id=0)
model = Frozen(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(1, 64, (4, 8))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
