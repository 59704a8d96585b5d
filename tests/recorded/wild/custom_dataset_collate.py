import random
import torch
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset, Subset, ConcatDataset, WeightedRandomSampler


class Sentences(Dataset):
    PAD = 0

    def __init__(self, texts):
        self.vocab = {'<pad>': self.PAD}
        self.items = []
        for text in texts:
            self.items.append([self.vocab.setdefault(w, len(self.vocab)) for w in text.lower().split()])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        if not 0 <= i < len(self):
            raise IndexError(i)
        return torch.tensor(self.items[i]), i % 2


def collate(batch):
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True, padding_value=Sentences.PAD), lengths, torch.tensor(labels)


torch.manual_seed(0)
data = Sentences(["a b c", "b a", "d", "a d e f", "c c"])
print(len(data), data[0], data.vocab)
for padded, lengths, labels in DataLoader(data, batch_size=2, shuffle=True, collate_fn=collate, drop_last=True):
    print(padded.tolist(), lengths.tolist(), labels.tolist())
emb = torch.nn.Embedding(len(data.vocab), 3, padding_idx=0)
gru = torch.nn.GRU(3, 2, batch_first=True)
padded, lengths, _ = collate([data[i] for i in range(3)])
packed = pack_padded_sequence(emb(padded), lengths, batch_first=True)
out, h = gru(packed)
out, lens = pad_packed_sequence(out, batch_first=True)
print(out.shape, h.shape, lens, f'{out.sum():.4f}')
both = ConcatDataset([Subset(data, [0, 1]), Subset(data, [4])])
print(len(both), [len(x) for x, _ in both])
sampler = WeightedRandomSampler([0.1, 0.1, 1.0, 0.1, 0.1], num_samples=6)
print(list(sampler))
