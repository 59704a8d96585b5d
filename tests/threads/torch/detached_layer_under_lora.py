# engine: torch
# needs: peft
# line: return self.head(self.fc(x).detach())
# must: fc\.lora_A\.default\.weight\.grad is None
# never: Checked:
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.fc(x).detach())


model = get_peft_model(Net(), LoraConfig(target_modules=["fc", "head"], r=2))
loss = model(torch.ones(3, 4)).pow(2).mean()
loss.backward()
