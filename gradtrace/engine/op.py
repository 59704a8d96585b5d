"""The operator record and the registry of all records.

A record says everything about one operator, on one or a few lines:

    op("mul(self, other)", "multiply", kind="elementwise", scalar=operator.mul, node="MulBackward0", promote="arith",
       self=d("other", lambda xp, g, out, self, other: g * other),
       other=d("self", lambda xp, g, out, self, other: g * self))

- The signature: tensor arguments first, then `;` and the plain ones. `*name` is a sequence of tensors.
- The kernel runs on raw data: a numpy function's name, or a function of the raw arguments.
- `scalar`: the same on Python floats, for float64 scalars without numpy. It may raise where IEEE has inf or nan:
  then the operation is done again on a 0-d array.
- A derivative `d(needs, rule)` for each tensor argument: `needs` names what backward keeps ("self other", "out",
  "~self" for only the shape and dtype, "out1" for one of several results, "index" for a plain argument that PyTorch
  saves). The rule is written once, in operators and in names of `xp`, which stands for floats, arrays or Tensors.
  `joint=` is one rule for all arguments, `rule(xp, wanted, g, out, *args)`; `nondifferentiable=` names the arguments
  (indices, pivots) that it has none for.
- `unsupported_dtypes=("bi", "elu_cpu")`: the kinds of dtypes (numpy's letters) that PyTorch's kernel of that name
  refuses; or a function that looks at the raw operands and raises.
- `undefined_grad="none"`: a rule of an operator with several results gets None, not zeros, for the results that got no
  gradient.
- Broadcasting and casts are undone by the engine, never in a rule.

What the other packages need to know about an operator is on its record too. They keep no tables of operator names; a
table of code for single operators is registered (`engine/tables.py`) and checked by tests/ops/test_records.py.

- `kind`, required, is one of KINDS, and decides how vmap, local derivatives, static plans and `map` treat the operator:

      elementwise    each element of the result depends on the broadcast operands' elements at its place, and on the
                     plain arguments, alone; a plain argument that is an array broadcasts with the operands
      fill           new numbers in the shape and dtype of the first operand: constants, or a broadcast second operand
      random         random numbers in the shape of the first operand
      reduction      one result for each group of elements: all of them, or those along some dims
      scan           running results along a dim
      normalization  each element depends on all of its group: softmax, layer_norm
      view           the first operand's elements in another shape, sharing its memory where that is possible
      structural     elements moved, repeated, joined, padded or summed by their position alone
      gather         elements taken from, or put at, the places that an index or a mask gives
      contraction    sums of products over shared dims, or a function of all pairs: mm, convolution, cdist
      linalg         a function of the matrices in the last two dims; the dims before them are a batch
      window         each result depends on a neighbourhood: pooling, resampling, sampling at points
      loss           a loss of its operands, or its gradient

- `dims="dim1 dim2"`: the plain arguments that count dims of the only operand; nothing else in the call depends on how
  many dims that has, so a dim can be put before them.
- `identity="self"`: the result is this operand, unchanged, whenever it has the result's shape and dtype.
- `constant`: the number that all elements of the result are, whatever the operands.
- `commutative`: True where exchanging the operands gives the same bits, False where their order is worth showing.
- `sign`: the Python operator that stands for it.
- `public`: the name that a trace shows, where it is not the record's; `reversed_operands` where the first operand
  stands to the right of the sign (`2 - x` is rsub_scalar(x, 2)); `aten`: PyTorch's name of the in-place form in errors.
- `zero`, one of ZEROS: why its derivative can be 0 everywhere, for `why`:

      flat       it is piecewise constant                clamp       the input is outside of its bounds
      rectifier  the input is not positive               saturated   the slope is smaller than the dtype can hold
      choice     other elements were chosen              branch      the other branch was taken
      mask       the other factor, a mask, is 0          product     the other factor is 0
      padding    only padding was looked up

- `symbolic`: what `paths --symbolic` writes for it: the name of a function of sympy, or a function of the sympy module
  and the operands.
- `cost=("length", 9)`: floating-point operations for each element of the first operand and each of the longest last
  dim; `("pairs", 3)`: for each element of the first operand and each row of the last.
- `overlap`, words about the in-place form: "idempotent" (writing an element twice does no harm), "reads" (it reads its
  operands while it writes), "number" (its operand is one number).

Calling a record runs it on Tensors and records a node when a gradient can be asked for (`call.py`).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.engine.checks import check_version
from gradtrace.engine.lazy import np
from gradtrace.engine.node import (
    DROP,
    FREED_MESSAGE,
    META,
    ONE,
    ONE_AND_PLAIN,
    SAVE,
    TUPLES,
    TWO,
    Meta,
    Node,
    OpNode,
    UndefinedGrad,
)
from gradtrace.engine.saved import result_of
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from functools import cached_property as lazy
    from typing import overload

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
    """The names that a rule needs kept, the rule, and the rule of a recorded pass."""

    needs: tuple[str, ...]
    rule: Rule
    traced: Rule


def d(needs: str, rule: Rule, traced: Rule | None = None) -> Derivative:
    """Return a derivative from the names it needs kept and its rule.

    `traced` replaces the rule in a recorded pass, where PyTorch shows one operator for what is several steps here, and
    a call of that operator would be slower on plain numbers.
    """
    return Derivative(tuple(needs.split()), rule, traced or rule)


class BackwardPlan:
    """What a node keeps and which rules it runs, for one set of arguments that require grad (`grad_mask`, as bits).

    `actions` has DROP, SAVE or META for each argument; `saved_mask` the SAVE ones as bits, `raw_mask` those of them
    that the fast path keeps as raw data. `saved_outs` are the numbers of the results to keep, None for all.
    `derivative(node, gradient)` gives a (node, gradient) pair for each edge, on raw data.
    """

    __slots__ = (
        "actions",
        "derivative",
        "grad_mask",
        "layout",
        "node_type",
        "one_rule_each",
        "raw_mask",
        "record",
        "rules",
        "save_out",
        "saved_mask",
        "saved_outs",
        "saves",
        "traced_rules",
    )

    def __init__(self, record: Op, grad_mask: int, node_type: type[Node]) -> None:
        from gradtrace.engine.backward import interpret, refuse

        self.record = record
        self.grad_mask = grad_mask
        self.node_type = node_type
        self.layout = node_type.layout
        self.derivative: Callable[[Node, NodeGradient], Pairs] = refuse if record.undefined else interpret
        self.raw_mask = 0
        self.one_rule_each = record.joint is None and record.outputs == 1
        chosen = record.derivatives_of(grad_mask)
        used = [record.joint] if record.joint is not None else [derivative for _, derivative in chosen]
        needs = {name for derivative in used for name in derivative.needs}
        names = record.bare_names
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
        """An attribute that a method makes on first use. (A `__getattr__` would make every attribute slow.)"""

        def __init__(self, make: Callable[[Op], object]) -> None:
            self.make = make
            self.__doc__ = make.__doc__

        def __get__(self, owner: Op, kind: type) -> object:
            value = owner.__dict__[self.make.__name__] = self.make(owner)
            return value


class Op:
    """One operator. See the module's docstring for the fields."""

    def __init__(
        self,
        signature: str,
        kernel: str | Callable[..., Any],
        /,  # an operator's argument may be called self
        *,
        kind: str,
        scalar: Callable[..., Any] | None = None,
        node: str | None = None,
        inplace_node: str | None = None,
        promote: str | None = None,
        view: bool = False,
        outputs: int = 1,
        differentiable: tuple[int, ...] | None = None,
        joint: Derivative | None = None,
        undefined: bool | str = False,  # a name: what PyTorch calls the operator that has no derivative
        undefined_grad: str = "zeros",
        unsupported_dtypes: tuple[str, str] | Callable[[list[Any]], None] | None = None,
        nondifferentiable: tuple[str, ...] = (),
        number: str | None = None,
        c_order: bool = False,
        dims: str = "",
        identity: str = "",
        constant: float | None = None,
        commutative: bool | None = None,
        sign: str = "",
        public: str = "",
        reversed_operands: bool = False,
        aten: str = "",
        zero: str = "",
        symbolic: str | Callable[..., Any] | None = None,
        cost: tuple[str, int] | None = None,
        overlap: str = "",
        **derivatives: Derivative,
    ) -> None:
        self.name, _, rest = signature.partition("(")
        tensors, _, plain = rest.rstrip(")").partition(";")
        self.tensor_names = tuple(n.strip() for n in tensors.split(",") if n.strip())
        self.bare_names = tuple(n.lstrip("*") for n in self.tensor_names)
        self.variadic = bool(self.tensor_names) and self.tensor_names[0].startswith("*")
        self.plain_names = tuple(n.strip() for n in plain.split(",") if n.strip())
        self.arity = len(self.tensor_names)
        self._kernel = kernel
        self.kind = kind
        self.dims = tuple(dims.split())
        self.identity = identity
        self.constant = constant
        self.commutative = commutative
        self.sign = sign
        self.public = public
        self.reversed_operands = reversed_operands
        self.aten = aten
        self.zero = zero
        self.symbolic = symbolic
        self.overlap = overlap
        self.cost = cost
        self.scalar = scalar
        self.promote = promote
        self.view = view
        self.outputs = outputs  # 0: as many as the kernel returns
        self.differentiable = differentiable
        self.undefined = undefined
        self.undefined_grad = undefined_grad
        self.unsupported_dtypes = unsupported_dtypes
        self.number = number  # the operator that stands for this one inside a rule when the second operand is a number
        self.c_order = c_order  # whether results lie in C order whatever the operands do
        self.joint = joint
        self.derivatives = derivatives
        self.node_name = node
        self.inplace_node = inplace_node
        self.has_gradient = bool(derivatives or joint or undefined)
        with_rule = tuple(i for i, name in enumerate(self.tensor_names) if self._has_rule(name, nondifferentiable))
        self.edges = with_rule if with_rule and len(with_rule) < self.arity else None  # None: all arguments
        self._node_types: dict[str, type[Node]] = {}
        self._plans: dict[Any, BackwardPlan] = {}
        assert kind in KINDS, f"{self.name}: kind {kind!r} is not one of {', '.join(KINDS)}"
        assert zero in ZEROS, f"{self.name}: zero {zero!r} is not one of {', '.join(ZEROS)}"
        assert self.name not in records, self.name
        records[self.name] = self

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __call__(self, *args: object) -> Any:
        """Run the operator on Tensors (and Python numbers), positional arguments in the signature's order."""
        return self.call(*args)

    def _has_rule(self, name: str, without: tuple[str, ...]) -> bool:
        return name not in without if self.joint is not None else name in self.derivatives

    @lazy
    def kernel(self) -> Kernel:
        """The kernel, with numpy's functions found by their names."""
        kernel = getattr(np, self._kernel) if isinstance(self._kernel, str) else self._kernel
        return in_c_order(kernel) if self.c_order else kernel

    @lazy
    def wide(self) -> Kernel:
        """The kernel for float64 arrays: numpy's own function where `kernel` wraps one for float32."""
        wide: Kernel = getattr(np, getattr(self.kernel, "ufunc", ""), self.kernel)
        return wide

    @lazy
    def run(self) -> Callable[[tuple[Any, ...], list[Any]], Any]:
        """The function run(args, raws): the kernel on raw data, after promotion and the record's checks."""
        from gradtrace.engine.call import make_runner

        return make_runner(self)

    @lazy
    def call(self) -> Callable[..., Any]:
        """The function that a call of the record runs."""
        from gradtrace.engine.call import make_call

        return make_call(self)

    # ---- nodes

    def node_type(self, name: str | None = None) -> type[Node]:
        """Return the class of this operator's nodes (of one name, where in-place forms have another)."""
        key = name or self.node_name or ""
        found = self._node_types.get(key)
        if found is None:
            base: type[Node] = UndefinedGrad if self.undefined else OpNode
            shown = "NotImplemented" if self.undefined else key or self.name.title() + "Backward0"
            fields: dict[str, Any] = {"__slots__": (), "op": self, "outputs": self.outputs, "layout": self._layout()}
            fields.update(saved_properties(self))
            if "::" in shown:
                fields["name"] = lambda node: shown
            elif not self.undefined:
                fields["name"] = Node.name
            found = self._node_types[key] = type(shown.rpartition("::")[2], (base,), fields)
        return found

    def _layout(self) -> int:
        if self.undefined or self.variadic or self.arity > 2 or not self.arity:
            return TUPLES
        if self.plain_names:
            return ONE_AND_PLAIN if self.arity == 1 else TUPLES
        return ONE if self.arity == 1 else TWO

    def plan(self, grad_mask: int, name: str | None = None) -> BackwardPlan:
        """Return what a node keeps when the arguments in the bit mask require grad."""
        key = grad_mask if name is None else (grad_mask, name)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = BackwardPlan(self, grad_mask, self.node_type(name))
        return plan

    def derivatives_of(self, grad_mask: int) -> list[tuple[int, Derivative]]:
        """Return the derivatives of the arguments in a bit mask, with the arguments' numbers."""
        wanted = (i for i in range(self.arity) if grad_mask >> i & 1)
        names = self.tensor_names
        return [] if self.joint else [(i, self.derivatives[names[i]]) for i in wanted if names[i] in self.derivatives]

    def saved_attribute(self, node: Node, name: str) -> object:
        """Return `node._saved_NAME`; RuntimeError once it is freed, AttributeError for what is not saved."""
        if node.freed:
            raise RuntimeError(FREED_MESSAGE)
        args, out = node.args, node.out
        if node.extras is not None and node.extras.packed:
            from gradtrace.engine.saved_hooks import unpacked

            args, out = unpacked(node)
        if name in ("result", "out") and out is not None and self.outputs == 1:
            return result_of(node, out)
        names = self.bare_names + self.plain_names
        if name in names:
            kept = args[names.index(name)]
            if isinstance(kept, Meta):
                return None
            if isinstance(kept, Tensor):
                expected = None if node.extras is None else node.extras.versions
                check_version(node, kept, 0 if expected is None else expected[names.index(name)])
            is_number = names.index(name) < self.arity and isinstance(kept, (int, float))
            return Tensor._wrap(np.asarray(kept)) if is_number else kept
        raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{name}'")


def saved_properties(record: Op) -> dict[str, property]:
    """Return `_saved_NAME` and `_raw_saved_NAME` for a class of nodes.

    A `__getattr__` would make every attribute slow.
    """
    found = {}
    for name in (*record.bare_names, *record.plain_names, "result", "out"):
        found[f"_saved_{name}"] = saved_property(name)
        found[f"_raw_saved_{name}"] = raw_saved_property(name)
    return found


def saved_property(name: str) -> property:
    return property(lambda node: node.op.saved_attribute(node, name))


def raw_saved_property(name: str) -> property:
    def read(node: Node) -> object:
        from gradtrace.engine.saved_hooks import raw_saved

        return raw_saved(node, name)

    return property(read)


def in_c_order(kernel: Kernel) -> Kernel:
    """Return the kernel with its results in C order."""

    def call(*raws: object) -> Array | tuple[Array, ...]:
        found = kernel(*raws)
        if type(found) is tuple:
            return tuple(np.asarray(each, order="C") for each in found)
        return np.asarray(found, order="C")

    return call


if TYPE_CHECKING:

    class OneResult(Op):
        """What a type checker sees of a record with one result."""

        def __call__(self, *args: object) -> Tensor: ...

    class SeveralResults(Op):
        """What a type checker sees of a record with several results."""

        def __call__(self, *args: object) -> tuple[Any, ...]: ...

    @overload
    def op(
        signature: str, kernel: str | Callable[..., Any], /, *, outputs: int, **fields: object
    ) -> SeveralResults: ...
    @overload
    def op(signature: str, kernel: str | Callable[..., Any], /, **fields: Any) -> OneResult: ...
    def op(signature: str, kernel: str | Callable[..., Any], /, **fields: object) -> Op: ...

else:
    OneResult = SeveralResults = Op

    def op(signature: str, kernel: str | Callable[..., Any], /, **fields: object) -> Op:
        """Add a record to the registry; the fields are Op's."""
        return Op(signature, kernel, **fields)
