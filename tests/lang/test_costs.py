"""What is charged before a step of Python's own: how much it is, and what stays as in Python."""

from __future__ import annotations

import io

import pytest

from gradtrace import lang
from gradtrace.errors import BudgetError
from gradtrace.lang import costs
from gradtrace.lang.budget import MANY, Meter
from gradtrace.limits import Budget


def said(text: str, **limits: object) -> str:
    out = io.StringIO()
    lang.run(lang.parse(text), {}, budget=Budget(**limits), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def used(value: object) -> int:
    return costs.weigh(value, Meter(Budget()))


def test_a_value_weighs_what_a_visit_of_all_its_paths_costs():
    shared = [0.5] * 100
    assert used(shared) == 100 and used([shared, shared]) == 202
    assert used({"a": 1.0}) == 2 and used("a" * 160) == 10 and used(1 << 2560) == 10
    assert used(ValueError([0.5] * 7)) == 8


def test_a_container_in_itself_is_visited_once():
    ring: list[object] = [1.0]
    ring.append(ring)
    assert used(ring) == 2
    assert said("x = []; x.append(x); print(x)") == "[[...]]\n"


def test_a_step_that_would_end_late_is_not_started():
    meter = Meter(Budget(seconds=1.0))
    meter.count_items(MANY)
    with pytest.raises(BudgetError, match="longer than 1 s"):
        meter.count_items(10**9)
    with pytest.raises(BudgetError, match="longer than 1 s"):  # and so is every later one
        meter.count_steps(10**5)


@pytest.mark.parametrize(
    "grow", ["x = x + [1] * 1000", "x = x[:] + [1] * 1000", "x = [*x, *[1] * 1000]", "x = sum([x, [1] * 1000], [])"]
)
def test_copies_count_as_steps(grow):
    with pytest.raises(BudgetError, match="steps"):
        said(f"x = []\nfor i in range(10**4): {grow}", steps=10**6, memory_bytes=10**9)


@pytest.mark.parametrize("use", ["d[t]", "d[t] = 1", "d[t] += 1", "del d[t]", "operator.getitem(d, t)", "d.get(t)"])
def test_the_hash_of_a_nested_key_counts_as_steps(use):
    nested = "import operator\nd, t = {}, (1,)\nfor i in range(24): t = (t, t)\n"
    with pytest.raises(BudgetError, match="steps"):
        said(nested + use, steps=10**5)


@pytest.mark.parametrize("use", ["x[:] += [1]", "y = x[:]", "x[:] = [1] * 1000"])
def test_slices_count_as_steps(use):
    with pytest.raises(BudgetError, match="steps"):
        said(f"x = [1] * 10**5\nfor i in range(10**4): {use}", steps=10**5, memory_bytes=10**9)


@pytest.mark.parametrize(
    "make", ["f'{x}'", "'%s' % (x,)", "'{}'.format(x)", "str(x)", "repr(x)", "print(x)", "x == y", "max([x], [y])"]
)
def test_nested_values_are_counted_for_each_path(make):
    with pytest.raises(BudgetError, match="steps"):
        said(f"x = []; y = []\nfor i in range(60): x, y = [x, x], [y, y]\n{make}", steps=10**5)


def test_results_are_those_of_python():
    assert said("print(sum([[1], [2]], []), sum([2**70, 1.5]), sum([]), sum((), 3), sum([True, 2]), sum({1, 2}))") == (
        f"[1, 2] {2.0**70 + 1.5} 0 3 3 3\n"
    )
    assert said(
        "import math\nprint(math.prod([3, True]), math.prod([1.5, 2]), math.prod([]), divmod(7, 2), 7 // 2, -7 % 3)"
    ) == ("3 3.0 1 (3, 1) 3 2\n")
    assert said(
        "print(list(map(str.upper, ['a'])), list(map(list, ['ab'])), sorted('ba', key=str.lower), 'ab'.rfind('b'))"
    ) == ("['A'] [['a', 'b']] ['a', 'b'] 1\n")
    assert said("x = [1, 2]\nx += (4,)\nx += 'a'\nx[1:2] = []\ndel x[:1]\nprint(x, x.pop(0), x.pop())") == "[] 4 a\n"


def test_many_names_are_checked_in_linear_time():
    names = [f"a{i}" for i in range(20_000)]
    program = lang.parse(f"def f({', '.join(names)}): pass\nf({', '.join(f'{name}=1' for name in names)})")
    assert program.inputs == ()  # the square of their number of steps would take minutes


def test_reading_a_program_counts_towards_its_time():
    with pytest.raises(BudgetError, match="s to be read"):
        lang.parse("x = f'" + "{a:{b}}" * 100_000 + "'", budget=Budget(seconds=0.5))
    assert lang.parse("x = 1").seconds > 0


@pytest.mark.parametrize("use", ["a == 'b'", "a != b", "a < words", "'b' in a", "np.array(words)"])
def test_comparisons_of_arrays_of_strings_count_as_steps(use):
    made = "import numpy as np\nwords = ['a'] * 10**5\na, b = np.array(words), np.array(words)\n"
    with pytest.raises(BudgetError, match="steps"):
        said(f"{made}for i in range(1000): {use}", steps=10**5)


@pytest.mark.parametrize("use", ["x + items", "items - x", "x == items", "np.add(x, items)"])
def test_the_items_of_a_list_count_where_numpy_gets_them(use):
    made = "import numpy as np\nx, items = np.zeros(10**4), [1.0] * 10**4\n"
    with pytest.raises(BudgetError, match="operations"):
        said(f"{made}for i in range(1000): {use}", flops=10**6)


def test_a_distributed_sampler_does_not_visit_the_indices_of_other_ranks():
    sampler = "DistributedSampler([1, 2], num_replicas=10**12, rank=10**12 - 1, shuffle=False)"
    assert said(f"from torch.utils.data.distributed import DistributedSampler\nprint(list({sampler}))") == "[1]\n"
