"""Looking a name up loads the family that has it."""

import subprocess
import sys

import pytest

import gradtrace as gt
from gradtrace import ops
from gradtrace.ops import families

CODE = """
from gradtrace.ops.families import NAMES
from tools import families
print(families.registered() == NAMES)
"""
LOOKUP = """
import sys
import gradtrace as torch
{line}
print(*[name for name in sys.modules if name.startswith("gradtrace.ops.") and name.endswith(".sums")])
"""


def said(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_table_of_names_is_what_the_families_register():
    assert said(CODE) == "True", "run: python -m tools.generate"


def test_a_family_loads_when_one_of_its_names_is_asked_for():
    assert said(LOOKUP.format(line="torch.tensor(1.0) * 2")) == ""
    assert said(LOOKUP.format(line="torch.cat")) == ""
    assert said(LOOKUP.format(line="torch.tensor(1.0).prod")) == "gradtrace.ops.reduce.sums"
    backward = "torch.tensor([1.0], requires_grad=True).tile(2).amax().backward()"
    assert said(LOOKUP.format(line=backward)) == "gradtrace.ops.reduce.sums"


def test_every_name_is_found_where_it_is():
    ops.load()
    for table in (
        ops.api.functions,
        ops.api.methods,
        ops.api.functional,
        ops.api.linalg,
        ops.api.special,
    ):
        for name in table:
            assert ops.find(table, name) is table[name]
    assert families.of("no_such_name") == [] and ops.find(ops.api.functions, "no_such_name") is None


@pytest.mark.parametrize("name", ["stack", "cat"])
def test_the_dim_of_a_join_has_one_name_at_a_time(name):
    function, x = getattr(gt, name), gt.ones(2, 2)
    assert gt.equal(function([x, x], axis=1), function([x, x], 1))
    assert gt.equal(function([x, x], axis=0), function([x, x]))
    for given, named in (
        ((0,), {"axis": 1}),
        ((), {"dim": 0, "axis": 0}),
        ((), {"axis": None}),
        ((), {"dim": None}),
    ):
        with pytest.raises(TypeError):
            function([x, x], *given, **named)
