import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class TheModelClass(nn.Module):
    def __init__(self):
        super(TheModelClass, self).__init__()
        self.fc1 = nn.Linear(4, 3)
        self.fc2 = nn.Linear(3, 2, bias=False)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


model = TheModelClass()
optimizer = optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
print("Model's state_dict:")
for param_tensor in model.state_dict():
    print(param_tensor, "\t", model.state_dict()[param_tensor].size())
print("Optimizer's state_dict:")
for var_name in optimizer.state_dict():
    print(var_name, "\t", optimizer.state_dict()[var_name])
model(torch.ones(1, 4)).sum().backward()
optimizer.step()
checkpoint = {'epoch': 5, 'model_state_dict': model.state_dict(), 'optimizer_state_dict': optimizer.state_dict()}
fresh = TheModelClass()
other = optim.SGD(fresh.parameters(), lr=0.001, momentum=0.9)
print(fresh.load_state_dict(checkpoint['model_state_dict']))
other.load_state_dict(checkpoint['optimizer_state_dict'])
print(torch.equal(fresh.fc1.weight, model.fc1.weight), sorted(other.state_dict()['state']))
try:
    fresh.load_state_dict({'fc1.weight': torch.zeros(3, 4)})
except RuntimeError as e:
    print(str(e).splitlines()[0])
print(fresh.load_state_dict({'fc1.weight': torch.zeros(3, 4)}, strict=False).missing_keys)
for p in fresh.fc1.parameters():
    p.requires_grad = False
print([n for n, p in fresh.named_parameters() if p.requires_grad])
