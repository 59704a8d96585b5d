"""The language of expression files: a safe subset of Python with PyTorch's names.

    program = parse(text)            text -> Program: only allowed node types, with scopes and inputs resolved
    run(program, inputs) -> Run      Program -> closures -> variables, root tensor, records

No part of a program is passed to exec or eval, and it never becomes a code object or Python frame: it is compiled
to closures over frames that are plain dicts. Every attribute access passes one gate, which decides by exact type;
every loop iteration, call and item is counted; importable modules are frozen tables. The semantics are Python's:

    statements    = += ... : annotated, unpacking with *, to names, attributes, items, slices   del   pass
                  if elif else   for while else break continue   with (several items)
                  try except else finally   raise ... from   assert   return   global nonlocal
                  def (defaults, / and *, *args, **kwargs, decorators, closures)   class (super(), properties,
                  static and class methods, listed special methods)   import, from ... import (listed modules)
                  match (all patterns)   yield, yield from (also as expressions)
    expressions   literals except bytes and complex   displays   comprehensions and generator expressions   lambda
                  operators, chained comparisons, and or not, conditional, :=   calls with * and **
                  attributes, items, slices   f-strings (specs, !r, =)
    unsupported   async, except*, metaclasses except ABCMeta, built-in types as bases, files, eval
    inputs        unbound names (optional in a program with imports); `w: leaf = 1.0` and `x: data = [1, 2]` declare
                  inputs with a default; other annotations are not evaluated

The modules:

    reading       source, parse, scope (name resolution), checks (errors of Python's compiler), inputs, names
    compiling     unit (state shared by the compilers), expressions, binary, calls, comprehensions,
                  statements, control, matching, targets, functions, generators, arguments, classes
    running       run, machine (assembles one run), budget (the meter), depth, restore
    values        values, generator_values, attributes (the gate), allowed (its tables), operators, hash_cost, strings,
                  iteration, arrays
    names         builtins, mathematics, namespaces, python_modules and python_functions (and a file for each larger
                  module),
                  torch_modules, numpy_module, typing_names
    figures       figures (matplotlib), progress (tqdm, IPython), saved (torch.save)
"""

from gradtrace.lang.inputs import Input
from gradtrace.lang.parse import Program, parse
from gradtrace.lang.run import Run, run
from gradtrace.limits import Budget
from gradtrace.program.source import Place, Source, Span

__all__ = ["Budget", "Input", "Place", "Program", "Run", "Source", "Span", "parse", "run"]
