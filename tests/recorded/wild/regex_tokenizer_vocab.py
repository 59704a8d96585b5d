import re
import json
from collections import Counter, OrderedDict

import torch
from torch import nn

text = """It was the best of data, it was the worst of data; 42 models were trained, 7 converged.
See https://example.org or write to someone@example.org."""
patterns = OrderedDict([('url', r'https?://\S+'), ('mail', r'[\w.]+@[\w.]+\w'), ('number', r'\d+'),
                        ('word', r"[A-Za-z]+(?:'[a-z]+)?"), ('punct', r'[.,;!?]')])
scanner = re.compile('|'.join(f'(?P<{k}>{v})' for k, v in patterns.items()))


def tokenize(s):
    for m in scanner.finditer(s):
        yield m.lastgroup, m.group().lower()


tokens = list(tokenize(text))
print(Counter(kind for kind, _ in tokens))
counts = Counter(tok for kind, tok in tokens if kind == 'word')
itos = ['<unk>'] + [w for w, c in sorted(counts.items(), key=lambda p: (-p[1], p[0])) if c > 1]
stoi = {w: i for i, w in enumerate(itos)}
print(itos, re.sub(r'(\w+)@(\w+)', r'\2 at \1', 'me@here'), re.split(r'\s*;\s*', 'a ; b;c'))
ids = torch.tensor([stoi.get(t, 0) for k, t in tokens if k == 'word'])
torch.manual_seed(0)
bag = nn.EmbeddingBag(len(itos), 4, mode='mean')
print(ids.tolist(), bag(ids.unsqueeze(0)))
print(json.dumps({'vocab': stoi, 'n': len(tokens)}, sort_keys=True), json.loads('[1, 2.5, null]'))
