"""The command line without the split: the language is what holds. No program, option or variable leads here."""

from gradtrace.cli import broker

broker.enable = lambda: None
