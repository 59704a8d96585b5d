"""The operator record and the registry of all records.

A record says everything about one operator and is a row of a table, one to three lines long. To
read a row:

    mul = arith_op("mul(self, other)", "multiply", "self * other", scalar=operator.mul, sign="*",
        self=d("other", lambda xp, g, out, self, other: g * other),
        other=d("self", lambda xp, g, out, self, other: g * self))

- The function that makes it says its kind: `elementwise_op`, `view_op`, `reduction_op` and so on,
  for each of KINDS. `arith_op` and `float_op` are `elementwise_op` with `promote="arith"` and
  `promote="float"`.
- The signature: tensor arguments first, then `;` and the plain arguments. `*name` is a sequence of
  tensors.
- The kernel runs on raw data: a numpy function's name, or a function of the raw arguments.
- The formula, for `gradtrace ops NAME`: "1 / (1 + exp(-self))"; its notation is in
  `analysis/formulas.py`. `symbolic=True`: sympy reads it too; or the name of a function of sympy,
  or a function of sympy and the operands.
- `scalar`: the kernel on Python floats, for float64 scalars without numpy. It may raise where IEEE
  has inf or nan: then the operation is done again on a 0-d array.
- A derivative `d(needs, rule)` for each tensor argument: `needs` names what backward keeps ("self
  other", "out", "~self" for only the shape and dtype, "out1" for one of several results, "index"
  for a plain argument that PyTorch saves: a tensor given for it is passed on as an array, and
  backward refuses it if it was changed in place). The rule is written once, in operators and in
  names of `xp`, which stands for floats, arrays or Tensors. A rule that only calls an operator is
  the text of that call, as in PyTorch's derivatives.yaml: `"select_place(grad, self.shape, dim,
  index)"`. It keeps what it names; `d(needs, text)` says what to keep instead. `joint=` is one rule
  for all arguments, `rule(xp, wanted, g, out, *args)`; `nondifferentiable=` names the arguments
  without a rule (indices, pivots).
- `PASS_ON` is the derivative of an argument whose gradient is the result's, `ZERO_GRAD` that of
  zeros.
- `node`: the name of its grad_fn. Without it, that of an operator with derivatives follows from its
  name: `log_softmax` has LogSoftmaxBackward0.
- `unsupported_dtypes="bi elu_cpu"`: the kinds of dtypes (numpy's letters) that PyTorch does not
  support, and its kernel's name for the error, or the error's text; or a function that looks at the
  raw operands and raises.
- Broadcasting and casts are undone by the engine, never in a rule.

The record also has the facts about an operator that other packages need; comments in `Op` explain
the simple fields. These packages keep no tables of operator names; a table of code for single
operators is registered (`engine/operators/tables.py`) and checked by tests/ops/test_records.py.

- The kind decides how local derivatives, static plans and `map` treat the operator:

      elementwise    each element of the result depends only on the broadcast operands' elements at
                     its position and on the plain arguments; a plain argument that is an array
                     broadcasts with the operands
      fill           new numbers in the shape and dtype of the first operand: constants, or a
                     broadcast second operand
      random         random numbers in the shape of the first operand
      reduction      one result for each group of elements: all of them, or those along some dims
      scan           running results along a dim
      normalization  each element depends on all of its group: softmax, layer_norm
      view           the first operand's elements in another shape, sharing its memory; with
                     `view=False` where possible
      structural     elements moved, repeated, joined, padded or summed by position, regardless of
                     their values
      gather         elements taken from, or put at, the places that an index or a mask gives
      contraction    sums of products over shared dims, or a function of all pairs: mm, convolution,
                     cdist
      linalg         a function of the matrices in the last two dims; the dims before them are a
                     batch
      window         each result depends on a neighbourhood: pooling, resampling, sampling at points
      loss           a loss of its operands, or its gradient

- `zero`, one of ZEROS: the reason, for the command `why`, that the derivative can be 0 everywhere:

      flat       it is piecewise constant
      rectifier  the input is not positive
      clamp      the input is outside of its bounds
      saturated  the slope is smaller than the dtype can hold
      choice     other elements were chosen, by their numbers
      index      other elements were taken, by their places
      branch     the other branch was taken
      mask       the other factor, a mask, is 0
      product    the other factor is 0
      padding    only padding was looked up

- `overlap`, words about the in-place form: "idempotent" (writing an element twice does no harm),
  "reads" (it reads its operands while it writes), "number" (its operand is one number).

Calling a record runs it on Tensors and records a node when a gradient can be asked for
(`calls/call.py`).
"""

from __future__ import annotations

from _operator import itemgetter  # operator takes 0.4 ms to import

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from functools import cached_property
    from typing import Protocol, overload

    from gradtrace.engine.data.tensor import Tensor
    from gradtrace.engine.data.types import Array, Kernel, Rule

# What Python's float arithmetic raises where IEEE arithmetic gives inf or nan.
FLOAT_TRAPS = (ZeroDivisionError, OverflowError, ValueError)

KINDS = (
    *(
        "elementwise",
        "fill",
        "random",
        "reduction",
        "scan",
        "normalization",
        "view",
        "structural",
        "gather",
    ),
    *("contraction", "linalg", "window", "loss"),
)
ZEROS = (
    "",
    "flat",
    "clamp",
    "rectifier",
    "saturated",
    "choice",
    "index",
    "branch",
    "mask",
    "product",
    "padding",
)

records: dict[str, Op] = {}


class Derivative(NamedTuple):
    """A derivative rule, the names of the values that it needs saved, and the rule for a recorded
    pass.

    A rule may be the text of a call until `with_rule` makes the function of it.
    """

    needs: tuple[str, ...]
    rule: Any
    traced: Any


def d(needs: str, rule: Rule | str, traced: Rule | None = None) -> Derivative:
    """Return a derivative from the names of the values that it needs saved, and its rule.

    `traced` replaces the rule in a recorded pass: it calls the single operator that PyTorch's graph
    shows, where `rule` has several steps, which are faster on plain numbers.
    """
    return Derivative(tuple(needs.split()), rule, traced or rule)


CONSTANTS = {"None": None, "0": 0, "0.0": 0.0}  # that the text of a rule can name


def with_rule(derivative: Derivative | str, record: Op) -> Derivative:
    """Return a record's derivative with a function as its rule: given as text, it is the call of
    one operator.

    The text is like "select_place(grad, self.shape, dim, 0)"; its items are the gradient, the
    result, arguments, the shape of one of them, and CONSTANTS. Raises AssertionError for any other
    item.
    """
    text = derivative if isinstance(derivative, str) else derivative.rule
    if not isinstance(text, str):
        return derivative  # type: ignore[return-value]
    operator, _, rest = text.rstrip(")").partition("(")
    items = rest.split(", ")
    shaped = [n for n in record.bare_names if n + ".shape" in items]
    rule_names = [
        "grad",
        "out",
        *record.bare_names,
        *record.plain_names,
        *CONSTANTS,
        *(n + ".shape" for n in shaped),
    ]
    unknown = set(items).difference(rule_names)
    assert not unknown, f"{record.name}: {', '.join(unknown)} in a rule: {text}"
    rule = one_call(operator, tuple(map(rule_names.index, items)), *map(rule_names.index, shaped))
    named = [n for n in ("out", *record.bare_names) if n in items] + ["~" + n for n in shaped]
    return Derivative(tuple(named) if derivative is text else derivative.needs, rule, rule)  # type: ignore[union-attr]


def one_call(operator: str, places: tuple[int, ...], shaped: int | None = None) -> Rule:
    """Return the rule that calls an operator of `xp` on the values at `places`.

    They are numbered: the rule's own arguments, CONSTANTS, the shape of the argument number
    `shaped`.
    """
    pick = itemgetter(*places)
    constants = tuple(CONSTANTS.values())
    if shaped is not None:
        return lambda xp, *values: getattr(xp, operator)(
            *pick((*values, *constants, tuple(values[shaped].shape)))
        )
    if len(places) == 1:
        return lambda xp, *values: getattr(xp, operator)(pick(values))
    return lambda xp, *values: getattr(xp, operator)(*pick(values + constants))


PASS_ON = d("", lambda xp, g, *_: g)
ZERO_GRAD = d("", lambda xp, g, *_: xp.zeros_like(g))


if TYPE_CHECKING:
    lazy = cached_property
else:

    class lazy:
        """A property that is computed at the first access and then stored. `__getattr__` would slow
        all attributes.
        """

        def __init__(self, make: Callable[[Op], object]) -> None:
            self.make = make
            self.__doc__ = make.__doc__

        def __get__(self, owner: Op, kind: type) -> object:
            value = owner.__dict__[self.make.__name__] = self.make(owner)
            return value


class Op:
    """One operator. The module's docstring explains the signature, the kernel, and the fields
    without a comment.

    Raises AssertionError for a field that does not exist, and for a name that another record has.
    """

    kind: str = ""
    scalar: Callable[..., Any] | None = None
    node: str | None = None  # None without a derivative
    inplace_node: str | None = None
    promote: str | None = None
    view: bool = False
    outputs: int = 1  # 0: as many as the kernel returns
    # the numbers of the results that can have a gradient; None: all
    differentiable: tuple[int, ...] | None = None
    joint: Derivative | None = None
    undefined: bool | str = False  # a name: what PyTorch calls the operator that has no derivative
    # what a rule gets for those of several results that got no gradient; "none": None
    undefined_grad: str = "zeros"
    unsupported_dtypes: tuple[str, str] | Callable[[list[Any]], None] | None = None
    nondifferentiable: tuple[str, ...] = ()
    # the operator that stands for this one inside a rule when the second operand is a number
    number: str | None = None
    exact_number: bool = False  # float16 with a number is computed in float32 and rounded once
    c_order: bool = False  # whether results lie in C order whatever the operands do
    # the operand that the result is, unchanged, if that has the result's shape and dtype
    identity: str = ""
    # the number that all elements of the result are, whatever the operands
    constant: float | None = None
    # True: exchanged operands give the same bits; False: their order is worth showing
    commutative: bool | None = None
    sign: str = ""  # the Python operator that stands for it
    # an argument that the public function computes and returns beside the result: sort's order
    computed: str = ""
    public: str = ""  # the name that a trace shows, where it is not the record's
    # the first one stands to the right of the sign: `2 - x` is rsub_scalar(x, 2)
    reversed_operands: bool = False
    aten: str = ""  # PyTorch's name of the in-place form in errors
    zero: str = ""
    formula: str = ""
    symbolic: bool | str | Callable[..., Any] | None = None
    overlap: str = ""

    def __init__(
        self, signature: str, kernel: str | Callable[..., Any], /, formula: str = "", **fields: Any
    ) -> None:
        self.name, _, rest = signature.partition("(")
        tensors, _, plain = rest.rstrip(")").partition(";")
        self.tensor_names = tuple(n.strip() for n in tensors.split(",") if n.strip())
        self.bare_names = tuple(n.lstrip("*") for n in self.tensor_names)
        self.variadic = self.bare_names != self.tensor_names
        self.plain_names = tuple(n.strip() for n in plain.split(",") if n.strip())
        self.arity = len(self.tensor_names)
        self._kernel = kernel
        self.formula = formula
        rules = {
            n: fields.pop(n)
            for n in self.bare_names
            if isinstance(fields.get(n), (Derivative, str))
        }
        self.derivatives = {n: with_rule(derivative, self) for n, derivative in rules.items()}
        bare = [n for n in self.bare_names if callable(fields.get(n))]
        assert not bare, (
            f"{self.name}: a rule without the names that it needs kept: {bare[0]}=d(NAMES, RULE)"
        )
        unknown = fields.keys() - Op.__annotations__.keys()
        assert not unknown, f"{self.name}: unknown fields {', '.join(sorted(unknown))}"
        self.__dict__.update(fields)
        assert self.kind in KINDS, (
            f"{self.name}: kind {self.kind!r} is not one of {', '.join(KINDS)}"
        )
        assert self.zero in ZEROS, (
            f"{self.name}: zero {self.zero!r} is not one of {', '.join(ZEROS)}"
        )
        if isinstance(unsupported := fields.get("unsupported_dtypes"), str):
            kinds, _, kernel_name = unsupported.partition(" ")
            self.unsupported_dtypes = kinds, kernel_name
        if self.node is None and (self.derivatives or self.joint):
            self.node = self.name.title().replace("_", "") + "Backward0"
        self.has_gradient = bool(self.derivatives or self.joint or self.undefined)
        ruled = [
            n not in self.nondifferentiable if self.joint else n in self.derivatives
            for n in self.bare_names
        ]
        some = any(ruled) and not all(ruled)
        # None: all arguments
        self.edges = tuple(i for i, has in enumerate(ruled) if has) if some else None
        # Those that `reverse/plan.py` has made: the classes of its nodes, and its plans for
        # backward.
        self.node_types: dict[str, type[Any]] = {}
        self.plans: dict[Any, Any] = {}
        assert self.name not in records, self.name
        records[self.name] = self

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __call__(self, *args: object) -> Any:
        """Run the operator on Tensors (and Python numbers), positional arguments in the signature's
        order.
        """
        return self.call(*args)

    @lazy
    def reads(self) -> tuple[int, ...]:
        """The places of the plain arguments that a rule needs: index tensors, masks, weights of
        classes.
        """
        used = [*self.derivatives.values()] if self.joint is None else [self.joint]
        needs = {name for derivative in used for name in derivative.needs}
        return tuple(i for i, name in enumerate(self.plain_names, self.arity) if name in needs)

    @lazy
    def kernel(self) -> Kernel:
        """The kernel as a function; a record may give the name of a numpy function instead."""
        kernel = getattr(np, self._kernel) if isinstance(self._kernel, str) else self._kernel
        return in_c_order(kernel) if self.c_order else kernel

    @lazy
    def wide(self) -> Kernel:
        """The kernel for float64 arrays: the numpy function itself if `kernel` only wraps it for
        float32.
        """
        return getattr(np, getattr(self.kernel, "ufunc", ""), self.kernel)

    @lazy
    def run(self) -> Callable[[tuple[Any, ...], list[Any]], Any]:
        """The function run(args, raws): the kernel on raw data, after promotion and the record's
        checks.
        """
        return higher["make_runner"](self)

    @lazy
    def call(self) -> Callable[..., Any]:
        """The function that runs when the record is called; it works on Tensors."""
        return higher["make_call"](self)


def in_c_order(kernel: Kernel) -> Kernel:
    """Return a kernel that returns the results of `kernel` in C order."""

    def call(*raws: object) -> Array | tuple[Array, ...]:
        results = kernel(*raws)
        if type(results) is tuple:
            return tuple(np.asarray(result, order="C") for result in results)
        return np.asarray(results, order="C")

    return call


if TYPE_CHECKING:

    class OneResult(Op):
        """The type of a record with one result, for type checkers."""

        def __call__(self, *args: object) -> Tensor: ...

    class SeveralResults(Op):
        """The type of a record with several results, for type checkers."""

        def __call__(self, *args: object) -> tuple[Any, ...]: ...

    class Factory(Protocol):
        """A function that makes records."""

        @overload
        def __call__(
            self,
            signature: str,
            kernel: str | Callable[..., Any],
            /,
            formula: str = "",
            *,
            outputs: int,
            **fields: object,
        ) -> SeveralResults: ...
        @overload
        def __call__(
            self,
            signature: str,
            kernel: str | Callable[..., Any],
            /,
            formula: str = "",
            **fields: Any,
        ) -> OneResult: ...

    op: Factory
else:
    op = OneResult = SeveralResults = Op


def factory(kind: str, **usual: Any) -> Factory:
    """Return the function that makes records of one kind, with the fields that they usually
    have.
    """

    def make(*row: Any, **fields: Any) -> Any:
        return op(*row, kind=kind, **{**usual, **fields})

    return make


elementwise_op, fill_op, random_op, reduction_op, scan_op, normalization_op = map(
    factory, KINDS[:6]
)
structural_op, gather_op, contraction_op, linalg_op, window_op, loss_op = map(factory, KINDS[7:])
view_op = factory("view", view=True)
arith_op = factory("elementwise", promote="arith")
float_op = factory("elementwise", promote="float")
