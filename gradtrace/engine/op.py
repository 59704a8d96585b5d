"""The operator record and the registry of all records.

A record says everything about one operator and is a row of a table, one to three lines long. To read a row:

    mul = arith_op("mul(self, other)", "multiply", "self * other", scalar=operator.mul, sign="*",
        self=d("other", lambda xp, g, out, self, other: g * other),
        other=d("self", lambda xp, g, out, self, other: g * self))

- The function that makes it says its kind: `elementwise_op`, `view_op`, `reduction_op` and so on, for each of KINDS.
  `arith_op` and `float_op` are `elementwise_op` with `promote="arith"` and `promote="float"`.
- The signature: tensor arguments first, then `;` and the plain arguments. `*name` is a sequence of tensors.
- The kernel runs on raw data: a numpy function's name, or a function of the raw arguments.
- The formula, for `gradtrace ops NAME`: "1 / (1 + exp(-self))"; its notation is in `analysis/formulas.py`.
  `symbolic=True`: sympy reads it too; or the name of a function of sympy, or a function of sympy and the operands.
- `scalar`: the kernel on Python floats, for float64 scalars without numpy. It may raise where IEEE has inf or nan:
  then the operation is done again on a 0-d array.
- A derivative `d(needs, rule)` for each tensor argument: `needs` names what backward keeps ("self other", "out",
  "~self" for only the shape and dtype, "out1" for one of several results, "index" for a plain argument that PyTorch
  saves). The rule is written once, in operators and in names of `xp`, which stands for floats, arrays or Tensors.
  `joint=` is one rule for all arguments, `rule(xp, wanted, g, out, *args)`; `nondifferentiable=` names the arguments
  without a rule (indices, pivots).
- `PASS_ON` is the derivative of an argument whose gradient is the result's, `ZERO_GRAD` that of zeros.
- `node`: the name of its grad_fn. Without it, that of an operator with derivatives follows from its name:
  `log_softmax` has LogSoftmaxBackward0.
- `unsupported_dtypes="bi elu_cpu"`: the kinds of dtypes (numpy's letters) that PyTorch does not support, and its
  kernel's name for the error, or the error's text; or a function that looks at the raw operands and raises.
- Broadcasting and casts are undone by the engine, never in a rule.

The record also has the facts about an operator that other packages need; comments in `Op` explain the simple fields.
These packages keep no tables of operator names; a table of code for single operators is registered
(`engine/tables.py`) and checked by tests/ops/test_records.py.

- The kind decides how vmap, local derivatives, static plans and `map` treat the operator:

      elementwise    each element of the result depends only on the broadcast operands' elements at its position and
                     on the plain arguments; a plain argument that is an array broadcasts with the operands
      fill           new numbers in the shape and dtype of the first operand: constants, or a broadcast second operand
      random         random numbers in the shape of the first operand
      reduction      one result for each group of elements: all of them, or those along some dims
      scan           running results along a dim
      normalization  each element depends on all of its group: softmax, layer_norm
      view           the first operand's elements in another shape, sharing its memory; with `view=False` where possible
      structural     elements moved, repeated, joined, padded or summed by position, regardless of their values
      gather         elements taken from, or put at, the places that an index or a mask gives
      contraction    sums of products over shared dims, or a function of all pairs: mm, convolution, cdist
      linalg         a function of the matrices in the last two dims; the dims before them are a batch
      window         each result depends on a neighbourhood: pooling, resampling, sampling at points
      loss           a loss of its operands, or its gradient

- `dims="dim1 dim2"`: the plain arguments that are dim numbers of the only operand; nothing else in the call depends on
  the operand's number of dims, so vmap can add a batch dim in front.
- `zero`, one of ZEROS: the reason, for the command `why`, that the derivative can be 0 everywhere:

      flat       it is piecewise constant                clamp       the input is outside of its bounds
      rectifier  the input is not positive               saturated   the slope is smaller than the dtype can hold
      choice     other elements were chosen              branch      the other branch was taken
      mask       the other factor, a mask, is 0          product     the other factor is 0
      padding    only padding was looked up

- `cost=("length", 9)`: floating-point operations for each element of the first operand and each of the longest last
  dim; `("pairs", 3)`: for each element of the first operand and each row of the last.
- `overlap`, words about the in-place form: "idempotent" (writing an element twice does no harm), "reads" (it reads its
  operands while it writes), "number" (its operand is one number).

Calling a record runs it on Tensors and records a node when a gradient can be asked for (`call.py`).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.engine.lazy import np
from gradtrace.engine.node import DROP, META, ONE, SAVE, TUPLES, TWO, Node, OpNode, UndefinedGrad

if TYPE_CHECKING:
    from functools import cached_property as lazy
    from typing import Protocol, overload

    from gradtrace.engine.tensor import Tensor
    from gradtrace.engine.types import Array, Kernel, NodeGradient, Pairs, Rule

# What Python's float arithmetic raises where IEEE arithmetic gives inf or nan.
FLOAT_TRAPS = (ZeroDivisionError, OverflowError, ValueError)

KINDS = (
    *("elementwise", "fill", "random", "reduction", "scan", "normalization", "view", "structural", "gather"),
    *("contraction", "linalg", "window", "loss"),
)
ZEROS = ("", "flat", "clamp", "rectifier", "saturated", "choice", "branch", "mask", "product", "padding")

records: dict[str, Op] = {}


class Derivative(NamedTuple):
    """A derivative rule, the names of the values that it needs saved, and the rule for a recorded pass."""

    needs: tuple[str, ...]
    rule: Rule
    traced: Rule


def d(needs: str, rule: Rule, traced: Rule | None = None) -> Derivative:
    """Return a derivative from the names of the values that it needs saved, and its rule.

    `traced` replaces the rule in a recorded pass: it calls the single operator that PyTorch's graph shows, where `rule`
    has several steps, which are faster on plain numbers.
    """
    return Derivative(tuple(needs.split()), rule, traced or rule)


PASS_ON = d("", lambda xp, g, *_: g)
ZERO_GRAD = d("", lambda xp, g, *_: xp.zeros_like(g))


class BackwardPlan:
    """The arguments to save and the rules to run for one set of arguments that require grad (`grad_mask`, as bits).

    `actions` has DROP, SAVE or META for each argument; `saved_mask` has a bit for each SAVE, `raw_mask` for those that
    the fast path keeps as raw data. `irregular`: there is not exactly one edge for each argument.
    `saved_outs` are the numbers of the results to keep, None for all. `derivative(node, gradient)` gives a (node,
    gradient) pair for each edge, on raw data.
    """

    def __init__(self, record: Op, grad_mask: int, node_type: type[Node]) -> None:
        from gradtrace.engine.backward import interpret

        self.record = record
        self.grad_mask = grad_mask
        self.node_type = node_type
        self.layout = node_type.layout
        self.derivative: Callable[[Node, NodeGradient], Pairs] = interpret
        self.raw_mask = 0
        self.irregular = bool(record.variadic or record.undefined)
        self.one_rule_each = record.joint is None and record.outputs == 1 and not record.undefined
        names = record.bare_names
        by_place = [(i, record.derivatives.get(name)) for i, name in enumerate(names) if grad_mask >> i & 1]
        chosen = [(i, derivative) for i, derivative in by_place if derivative is not None]
        used = [record.joint] if record.joint is not None else [derivative for _, derivative in chosen]
        needs = {name for derivative in used for name in derivative.needs}
        self.actions = tuple(SAVE if n in needs else META if "~" + n in needs else DROP for n in names)
        self.saved_mask = sum(1 << i for i, action in enumerate(self.actions) if action == SAVE)
        plain = needs.intersection(record.plain_names)
        outs = needs - plain - {*names, *("~" + n for n in names)}
        numbered = tuple(i for i in range(record.outputs) if f"out{i}" in outs)
        assert outs <= {"out", *(f"out{i}" for i in numbered)}, f"{record.name}: unknown name in needs: {outs}"
        self.save_out = bool(outs)
        self.saved_outs = None if "out" in outs or not numbered else numbered
        self.saves = self.save_out or bool(self.saved_mask or plain)
        self.rules = tuple((i, derivative.rule) for i, derivative in chosen)
        self.traced_rules = tuple((i, derivative.traced) for i, derivative in chosen)


if not TYPE_CHECKING:

    class lazy:
        """A property that is computed at the first access and then stored. `__getattr__` would slow all attributes."""

        def __init__(self, make: Callable[[Op], object]) -> None:
            self.make = make
            self.__doc__ = make.__doc__

        def __get__(self, owner: Op, kind: type) -> object:
            value = owner.__dict__[self.make.__name__] = self.make(owner)
            return value


class Op:
    """One operator. The module's docstring explains the signature, the kernel, and the fields without a comment.

    Raises AssertionError for a field that does not exist, and for a name that another record has.
    """

    kind: str = ""
    scalar: Callable[..., Any] | None = None
    node: str | None = None  # None without a derivative
    inplace_node: str | None = None
    promote: str | None = None
    view: bool = False
    outputs: int = 1  # 0: as many as the kernel returns
    differentiable: tuple[int, ...] | None = None  # the numbers of the results that can have a gradient; None: all
    joint: Derivative | None = None
    undefined: bool | str = False  # a name: what PyTorch calls the operator that has no derivative
    undefined_grad: str = "zeros"  # what a rule gets for those of several results that got no gradient; "none": None
    unsupported_dtypes: tuple[str, str] | Callable[[list[Any]], None] | None = None
    nondifferentiable: tuple[str, ...] = ()
    number: str | None = None  # the operator that stands for this one inside a rule when the second operand is a number
    c_order: bool = False  # whether results lie in C order whatever the operands do
    dims: tuple[str, ...] = ()  # given as words
    identity: str = ""  # the operand that the result is, unchanged, if that has the result's shape and dtype
    constant: float | None = None  # the number that all elements of the result are, whatever the operands
    commutative: bool | None = None  # True: exchanged operands give the same bits; False: their order is worth showing
    sign: str = ""  # the Python operator that stands for it
    public: str = ""  # the name that a trace shows, where it is not the record's
    reversed_operands: bool = False  # the first one stands to the right of the sign: `2 - x` is rsub_scalar(x, 2)
    aten: str = ""  # PyTorch's name of the in-place form in errors
    zero: str = ""
    formula: str = ""
    symbolic: bool | str | Callable[..., Any] | None = None
    cost: tuple[str, int] | None = None
    overlap: str = ""

    def __init__(self, signature: str, kernel: str | Callable[..., Any], /, formula: str = "", **fields: Any) -> None:
        self.name, _, rest = signature.partition("(")
        tensors, _, plain = rest.rstrip(")").partition(";")
        self.tensor_names = tuple(n.strip() for n in tensors.split(",") if n.strip())
        self.bare_names = tuple(n.lstrip("*") for n in self.tensor_names)
        self.variadic = self.bare_names != self.tensor_names
        self.plain_names = tuple(n.strip() for n in plain.split(",") if n.strip())
        self.arity = len(self.tensor_names)
        self._kernel = kernel
        self.formula = formula
        self.derivatives = {n: fields.pop(n) for n in self.bare_names if isinstance(fields.get(n), Derivative)}
        bare = [n for n in self.bare_names if callable(fields.get(n))]
        assert not bare, f"{self.name}: a rule without the names that it needs kept: {bare[0]}=d(NAMES, RULE)"
        unknown = fields.keys() - Op.__annotations__.keys()
        assert not unknown, f"{self.name}: unknown fields {', '.join(sorted(unknown))}"
        self.__dict__.update(fields, dims=tuple(fields.get("dims", "").split()))
        assert self.kind in KINDS, f"{self.name}: kind {self.kind!r} is not one of {', '.join(KINDS)}"
        assert self.zero in ZEROS, f"{self.name}: zero {self.zero!r} is not one of {', '.join(ZEROS)}"
        if isinstance(unsupported := fields.get("unsupported_dtypes"), str):
            kinds, _, kernel_name = unsupported.partition(" ")
            self.unsupported_dtypes = kinds, kernel_name
        if self.node is None and (self.derivatives or self.joint):
            self.node = self.name.title().replace("_", "") + "Backward0"
        self.has_gradient = bool(self.derivatives or self.joint or self.undefined)
        with_rule = [n not in self.nondifferentiable if self.joint else n in self.derivatives for n in self.bare_names]
        some = any(with_rule) and not all(with_rule)
        self.edges = tuple(i for i, has in enumerate(with_rule) if has) if some else None  # None: all arguments
        self._node_types: dict[str, type[Node]] = {}
        self.plans: dict[Any, BackwardPlan] = {}  # those that `plan` has made
        assert self.name not in records, self.name
        records[self.name] = self

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __call__(self, *args: object) -> Any:
        """Run the operator on Tensors (and Python numbers), positional arguments in the signature's order."""
        return self.call(*args)

    @lazy
    def kernel(self) -> Kernel:
        """The kernel as a function; a record may give the name of a numpy function instead."""
        kernel = getattr(np, self._kernel) if isinstance(self._kernel, str) else self._kernel
        return in_c_order(kernel) if self.c_order else kernel

    @lazy
    def wide(self) -> Kernel:
        """The kernel for float64 arrays: the numpy function itself if `kernel` only wraps it for float32."""
        return getattr(np, getattr(self.kernel, "ufunc", ""), self.kernel)

    @lazy
    def run(self) -> Callable[[tuple[Any, ...], list[Any]], Any]:
        """The function run(args, raws): the kernel on raw data, after promotion and the record's checks."""
        from gradtrace.engine.call import make_runner

        return make_runner(self)

    @lazy
    def call(self) -> Callable[..., Any]:
        """The function that runs when the record is called; it works on Tensors."""
        from gradtrace.engine.call import make_call

        return make_call(self)

    # ---- nodes

    def node_type(self, name: str | None = None) -> type[Node]:
        """Return the class of this operator's nodes; `name` selects another node name, such as the in-place one."""
        key = name or self.node or self.name
        found = self._node_types.get(key)
        if found is None:
            shown = "torch::autograd::NotImplemented" if self.undefined else key
            fields: dict[str, Any] = {"__slots__": (), "op": self, "outputs": self.outputs, "layout": self._layout()}
            fields.update(saved_properties(self), name=lambda node: shown)
            base: type[Node] = UndefinedGrad if self.undefined else OpNode
            found = self._node_types[key] = type(shown.rpartition("::")[2], (base,), fields)
        return found

    def _layout(self) -> int:
        if self.undefined or self.variadic:
            return TUPLES
        return ONE if self.arity == 1 else TWO if self.arity == 2 and not self.plain_names else TUPLES

    def plan(self, grad_mask: int, name: str | None = None) -> BackwardPlan:
        """Return the BackwardPlan for calls in which the arguments in the bit mask require grad."""
        key = grad_mask if name is None else (grad_mask, name)
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = BackwardPlan(self, grad_mask, self.node_type(name))
        return plan


def saved_properties(record: Op) -> dict[str, property]:
    """Return the properties `_saved_NAME` and `_raw_saved_NAME` for a class of nodes."""
    names = (*record.bare_names, *record.plain_names, "result", "out")
    return {prefix + name: saved_property(prefix, name) for name in names for prefix in ("_saved_", "_raw_saved_")}


def saved_property(prefix: str, name: str) -> property:
    def read(node: Node) -> object:
        from gradtrace.engine.saved_hooks import raw_saved, saved

        return saved(node, name) if prefix == "_saved_" else raw_saved(node, name)

    return property(read)


def in_c_order(kernel: Kernel) -> Kernel:
    """Return a kernel that returns the results of `kernel` in C order."""

    def call(*raws: object) -> Array | tuple[Array, ...]:
        found = kernel(*raws)
        if type(found) is tuple:
            return tuple(np.asarray(each, order="C") for each in found)
        return np.asarray(found, order="C")

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
            self, signature: str, kernel: str | Callable[..., Any], /, formula: str = "", **fields: Any
        ) -> OneResult: ...

    op: Factory
else:
    op = OneResult = SeveralResults = Op


def factory(kind: str, **usual: Any) -> Factory:
    """Return the function that makes records of one kind, with the fields that they usually have."""

    def make(*row: Any, **fields: Any) -> Any:
        return op(*row, kind=kind, **{**usual, **fields})

    return make


elementwise_op, fill_op, random_op, reduction_op, scan_op, normalization_op = map(factory, KINDS[:6])
structural_op, gather_op, contraction_op, linalg_op, window_op, loss_op = map(factory, KINDS[7:])
view_op = factory("view", view=True)
arith_op, float_op = factory("elementwise", promote="arith"), factory("elementwise", promote="float")
