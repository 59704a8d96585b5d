import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import numpy as np
import matplotlib.pyplot as plt

torch.manual_seed(42)
epsilons = [0, .05, .1, .2, .4]
centres = torch.randn(3, 10)
labels = torch.arange(60) % 3
images = centres[labels] + 0.3 * torch.randn(60, 10)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(10, 12)
        self.dropout = nn.Dropout(0.25)
        self.fc2 = nn.Linear(12, 3)

    def forward(self, x):
        x = self.dropout(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


model = Net()
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
for epoch in range(15):
    optimizer.zero_grad()
    loss = F.nll_loss(model(images), labels)
    loss.backward()
    optimizer.step()
print('train loss %.4f' % loss.item())
model.eval()


def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    return image + epsilon * sign_data_grad


def test(model, epsilon):
    correct = 0
    for data, target in zip(images.split(1), labels.split(1)):
        data = data.clone()
        data.requires_grad = True
        output = model(data)
        init_pred = output.max(1, keepdim=True)[1]
        if init_pred.item() != target.item():
            continue
        loss = F.nll_loss(output, target)
        model.zero_grad()
        loss.backward()
        perturbed = fgsm_attack(data, epsilon, data.grad.data)
        correct += model(perturbed).max(1, keepdim=True)[1].item() == target.item()
    final_acc = correct / float(len(images))
    print(f"Epsilon: {epsilon}\tTest Accuracy = {correct} / {len(images)} = {final_acc:.3f}")
    return final_acc


accuracies = [test(model, eps) for eps in epsilons]
plt.figure(figsize=(5, 5))
plt.plot(epsilons, accuracies, "*-")
plt.yticks(np.arange(0, 1.1, step=0.1))
plt.xticks(np.arange(0, .45, step=0.05))
plt.title("Accuracy vs Epsilon")
plt.show()
