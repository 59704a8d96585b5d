"""A script with commands of its own."""
import argparse
import os
import sys

import torch


def get_parser():
    parser = argparse.ArgumentParser(prog='tool', description='Train or show.',
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('-v', '--verbose', action='count', default=0)
    sub = parser.add_subparsers(dest='command', required=True)
    train = sub.add_parser('train', help='train a model')
    train.add_argument('--lr', type=float, default=0.1, help='learning rate')
    train.add_argument('--layers', type=int, nargs='+', default=[3, 1])
    train.add_argument('--opt', choices=['sgd', 'adam'], default='sgd')
    group = train.add_mutually_exclusive_group()
    group.add_argument('--fast', action='store_true')
    group.add_argument('--slow', action='store_true')
    show = sub.add_parser('show')
    show.add_argument('what', nargs='?', default='all')
    return parser


def main(argv):
    args = get_parser().parse_args(argv)
    if args.command == 'train':
        torch.manual_seed(0)
        sizes = args.layers
        net = torch.nn.Sequential(*[torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        kinds = {'sgd': torch.optim.SGD, 'adam': torch.optim.Adam}
        opt = kinds[args.opt](net.parameters(), lr=args.lr)
        out = net(torch.ones(1, sizes[0])).sum()
        out.backward()
        opt.step()
        print(args.command, args.lr, sizes, args.opt, args.fast, f'{out.item():.4f}', args.verbose)
    else:
        print('show', args.what, sorted(vars(args)))


for line in ('train', 'train --lr 0.5 --layers 4 2 1 --opt adam --fast', '-vv show', 'show weights'):
    main(line.split())
try:
    main(['train', '--fast', '--slow'])
except SystemExit as e:
    print('exit', e.code)
known, rest = get_parser().parse_known_args(['show', 'x', '--other', '1'])
print(known.what, rest, os.path.basename(sys.argv[0]).endswith('.py'))
