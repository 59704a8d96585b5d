"""The operator record, its call, and the registry of all records.

A record says everything about one operator, on one or a few lines:

    op("mul(self, other)", "multiply", scalar=operator.mul, node="MulBackward0", promote="arith",
       self=d("other", lambda xp, g, out, self, other: g * other),
       other=d("self", lambda xp, g, out, self, other: g * self))

- The signature: tensor arguments first, then `;` and the plain ones. `*name` is a sequence of tensors.
- The kernel runs on raw data: a numpy function's name, or a function of the raw arguments.
- `scalar`: the same on Python floats, for float64 scalars without numpy. It may raise where IEEE has inf or nan:
  then the operation is done again on a 0-d array.
- A derivative `d(needs, rule)` per tensor argument: `needs` names what backward keeps ("self other", "out", "~self"
  for only the shape and dtype, "out1" for one of several results,
  "index" for a plain argument that PyTorch saves). The rule is written once, in operators and in names
  of `xp`, which stands for floats, arrays or Tensors as the case is. `joint=` is one rule for all arguments,
  `rule(xp, wanted, g, out, *args)`; `no_gradient=` names the arguments (indices, pivots) that it has none for.
- `lacks=("bi", "elu_cpu")`: the kinds of dtypes (numpy's letters) that PyTorch's kernel of that name refuses; or a
  function that looks at the raw operands and raises.
- `missing="none"`: a rule of an operator with several results gets None, not zeros, for those without a gradient.
- Broadcasting and casts are undone by the engine, never in a rule.

Calling a record runs it on Tensors and records a node when a gradient can be asked for.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine import dtypes
from gradtrace.engine.broadcast import refuse_mismatch
from gradtrace.engine.cost import charge
from gradtrace.engine.extra import Counter
from gradtrace.engine.lazy import np
from gradtrace.engine.node import FREED_MESSAGE, WITH_PLAIN, AccumulateGrad, Meta, Node, UndefinedGrad
from gradtrace.engine.plan import DROP, META, SAVE, Derivative, Plan, d
from gradtrace.engine.promote import promote
from gradtrace.engine.recording import record_call
from gradtrace.engine.saved import mark_view, result_of
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor, normalise

# What Python's float arithmetic raises where IEEE arithmetic gives inf or nan.
FLOAT_TRAPS = (ZeroDivisionError, OverflowError, ValueError)
NUMBERS = (float, int, bool)
# PyTorch's names of kernels, for the dtypes that they refuse, where they are not the operators'.
UFUNCS = {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}

records: dict[str, Op] = {}


class Op:
    """One operator. See the module's docstring for the fields."""

    def __init__(
        self,
        signature: str,
        kernel: str | Callable[..., Any],
        /,  # an operator's argument may be called self
        *,
        scalar: Callable[..., Any] | None = None,
        node: str | None = None,
        inplace_node: str | None = None,
        promote: str | None = None,
        view: bool = False,
        outputs: int = 1,
        differentiable: tuple[int, ...] | None = None,
        joint: Derivative | None = None,
        undefined: bool | str = False,  # a name: what PyTorch calls the operator that has no derivative
        missing: str = "zeros",
        lacks: tuple[str, str] | Callable[[list[Any]], None] | None = None,
        no_gradient: tuple[str, ...] = (),
        number: str | None = None,
        c_order: bool = False,
        **derivatives: Derivative,
    ) -> None:
        self.name, _, rest = signature.partition("(")
        tensors, _, plain = rest.rstrip(")").partition(";")
        self.tensor_names = tuple(n.strip() for n in tensors.split(",") if n.strip())
        self.variadic = bool(self.tensor_names) and self.tensor_names[0].startswith("*")
        self.plain_names = tuple(n.strip() for n in plain.split(",") if n.strip())
        self.arity = len(self.tensor_names)
        self._kernel = kernel
        self.scalar = scalar
        self.promote = promote
        self.view = view
        self.outputs = outputs  # 0: as many as the kernel returns
        self.differentiable = differentiable
        self.undefined = undefined
        self.missing = missing  # what a rule gets for a result without gradient: "zeros", or "none" for None
        # The dtype kinds (numpy's letters) that the kernel refuses and PyTorch's name or words for it, or a function
        # that looks at the raw operands and raises.
        self.lacks = lacks
        self.number = number  # the operator that stands for this one inside a rule when the second operand is a number
        self.c_order = c_order  # whether results lie in C order whatever the operands do
        self.joint = joint
        self.derivatives = derivatives
        self.node_name = node
        self.inplace_node = inplace_node
        self.has_gradient = bool(derivatives or joint or undefined)
        with_rule = tuple(i for i, name in enumerate(self.tensor_names) if self._has_rule(name, no_gradient))
        self.edges = with_rule if with_rule and len(with_rule) < self.arity else None  # None: all arguments
        self._node_types: dict[str, type[Node]] = {}
        self._plans: dict[int, Plan] = {}
        assert self.name not in records, self.name
        records[self.name] = self

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def _has_rule(self, name: str, without: tuple[str, ...]) -> bool:
        return name not in without if self.joint is not None else name in self.derivatives

    # ---- resolved on first use

    def __getattr__(self, name: str) -> Any:
        if name == "wide":  # the kernel for float64: numpy's own function where `kernel` wraps one for float32
            own: Any = self.__getattr__("kernel")
            self.wide: Any = getattr(np, getattr(own, "ufunc", ""), own)
            return self.wide
        if name != "kernel":
            raise AttributeError(name)
        kernel = getattr(np, self._kernel) if isinstance(self._kernel, str) else self._kernel
        if self.c_order:
            kernel = in_c_order(kernel)
        self.kernel = kernel
        return kernel

    def node_type(self, name: str | None = None) -> type[Node]:
        """The class of this operator's nodes (of one name, where in-place forms have another)."""
        key = name or self.node_name or ""
        found = self._node_types.get(key)
        if found is None:
            base: type[Node] = UndefinedGrad if self.undefined else Node
            shown = "NotImplemented" if self.undefined else key or self.name.title() + "Backward0"
            narrow = 0 if self.undefined or self.variadic or self.arity > 2 else self.arity
            if narrow and self.plain_names:
                narrow = WITH_PLAIN if narrow == 1 else 0
            fields: dict[str, Any] = {"__slots__": (), "op": self, "outputs": self.outputs, "narrow": narrow}
            fields.update(saved_properties(self))
            if "::" in shown:
                fields["name"] = lambda node: shown
            found = self._node_types[key] = type(shown.rpartition("::")[2], (base,), fields)
        return found

    def plan(self, mask: int) -> Plan:
        """Which arguments to keep when those in the bit mask require grad."""
        plan = self._plans.get(mask)
        if plan is None:
            plan = self._plans[mask] = self._make_plan(mask)
        return plan

    def _make_plan(self, mask: int) -> Plan:
        wanted = [i for i in range(self.arity) if mask >> i & 1]
        names = self.tensor_names
        found = [(i, self.derivatives[names[i]]) for i in wanted if names[i] in self.derivatives]
        chosen = [derivative for _, derivative in found]
        if self.joint is not None:
            chosen, found = [self.joint], []
        needs = {name for derivative in chosen for name in derivative.needs}
        actions = []
        for name in (n.lstrip("*") for n in self.tensor_names):
            actions.append(SAVE if name in needs else META if "~" + name in needs else DROP)
        plain = needs.intersection(self.plain_names)
        unknown = needs - {n.lstrip("*") for n in self.tensor_names} - {"~" + n.lstrip("*") for n in self.tensor_names}
        unknown -= plain
        numbered = tuple(i for i in range(self.outputs) if f"out{i}" in unknown)
        assert unknown <= {"out", *(f"out{i}" for i in numbered)}, f"{self.name}: unknown name in needs: {unknown}"
        save_out = bool(unknown)
        which = None if "out" in unknown or not numbered else numbered
        saves_input = SAVE in actions or bool(plain)
        narrow = not (self.variadic or self.plain_names) and self.arity <= 2 and self.outputs == 1
        quick = narrow and self.scalar is not None and self.joint is None and not self.undefined
        rules = tuple((i, derivative.rule) for i, derivative in found)
        traced = tuple((i, derivative.traced) for i, derivative in found)
        return Plan(tuple(actions), save_out, which, save_out or saves_input, rules, traced, quick)

    # ---- the call

    record = record_call

    def __call__(self, *args: Any) -> Any:
        """Runs the operator on Tensors (and Python numbers), positional arguments in the signature's order."""
        if state.batching is not None:
            batched = state.batching.operate(self, args)
            if batched is not NotImplemented:
                return batched
        raws, mask = self.unwrap(args)
        raw = self.run(args, raws)
        if self.outputs != 1:
            return self._finish_many(args, raw, mask)
        out = Tensor._wrap(raw)
        if mask and self.has_gradient and state.grad_enabled:
            raw = out._data
            if type(raw) is float or (type(raw) is not bool and raw.dtype.kind == "f"):
                self.attach(out, self.record(args, mask, raw), 0)
        if self.view:
            mark_view(out, args[0])
        if state.recorder is not None:
            state.recorder(self.name, args, out, state.origin)
        if state.forward is not None:
            state.forward.push(self, args, out)
        return out

    def unwrap(self, args: tuple[Any, ...]) -> tuple[list[Any], int]:
        """The raw arguments and the bit mask of those that require grad."""
        mask = 0
        raws = list(args)
        for i, a in enumerate(args):
            if isinstance(a, Tensor):
                raws[i] = a._data
                if i < self.arity and (a._req or (a._x is not None and a._x.odd and a.requires_grad)):
                    mask |= 1 << i
            elif type(a) is tuple:
                raws[i] = unwrap_nested(a)
                if i == 0 and self.variadic and any(t.requires_grad for t in a):
                    mask |= 1
        return raws, mask

    def run(self, args: tuple[Any, ...], raws: list[Any]) -> Any:
        """The kernel on raw data, on Python floats where all operands are such."""
        late = self.promote == "arith" and isinstance(self.lacks, tuple)  # the common dtype is what must be offered
        if self.lacks is not None and not late:
            self._refuse(raws)
        if self.scalar is not None and type(raws[0]) in NUMBERS and self._on_numbers(raws):
            try:
                return self.scalar(*raws)
            except FLOAT_TRAPS:
                pass
        if self.promote is not None:
            raws = promote(self, args, raws)
            if late:
                self._refuse(raws)
            if type(raws[0]) is float and type(self._kernel) is not str:  # a kernel of our own expects arrays
                raws[0] = np.asarray(raws[0])
        elif self.view:
            raws[0] = args[0].own_array()
        elif not self.variadic:
            for i in range(self.arity):
                if type(raws[i]) is float or type(raws[i]) is bool:
                    raws[i] = np.asarray(raws[i])
        if state.spend is not None and not self.view:
            charge(self.name, raws)
        try:
            return self.kernel(*raws)
        except ValueError as error:
            if "broadcast" in str(error):
                refuse_mismatch(raws[: self.arity])
            raise
        except TypeError as error:
            if str(error).startswith("ufunc"):
                name = UFUNCS.get(self.name, self.name)
                kind = dtypes.of_raw(raws[0]).scalar_type
                raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{kind}'") from None
            raise

    def _refuse(self, raws: list[Any]) -> None:
        if not isinstance(self.lacks, tuple):
            self.lacks(raws)  # type: ignore[misc]
            return
        kinds, kernel = self.lacks
        raw = raws[0]
        kind = kind_of(raw)
        if self.promote is not None and self.arity > 1:
            kind = max((kind_of(r) for r in raws[: self.arity] if r is not None), key="bif".find)
        if kind not in kinds:
            return
        if " " in kernel:
            raise RuntimeError(kernel)
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.of_raw(raw).scalar_type}'")

    def _on_numbers(self, raws: list[Any]) -> bool:
        numbers = all(type(r) in NUMBERS for r in raws[: self.arity])
        return numbers and (self.promote is None or any(type(r) is float for r in raws))

    def attach(self, out: Tensor, node: Node, number: int) -> None:
        out._fn = node
        out._nr = number
        out._req = True

    def _finish_many(self, args: tuple[Any, ...], raws: Any, mask: int) -> tuple[Tensor, ...]:
        outs = tuple(Tensor._wrap(r) for r in raws)
        node = None
        if mask and state.grad_enabled and self.has_gradient:
            node = self.record(args, mask, tuple(o._data for o in outs))
        for i, out in enumerate(outs):
            if (
                node is not None
                and out.is_floating_point()
                and (self.differentiable is None or i in self.differentiable)
            ):
                self.attach(out, node, i)
            if self.view:
                mark_view(out, args[0], several=True)
        if state.recorder is not None:
            state.recorder(self.name, args, outs, state.origin)
        if state.forward is not None:
            state.forward.push(self, args, outs)
        return outs

    def saved_attribute(self, node: Node, name: str) -> Any:
        """`node._saved_self` and its like, for programs and views that look at what a node kept."""
        if node.freed:
            raise RuntimeError(FREED_MESSAGE)
        args, out = node.args, node.out
        if node.rare is not None and node.rare.packed:
            from gradtrace.engine.saved_hooks import unpacked

            args, out = unpacked(node)
        if name in ("result", "out") and out is not None and self.outputs == 1:
            return result_of(node, out)
        names = tuple(n.lstrip("*") for n in self.tensor_names) + self.plain_names
        if name in names:
            kept = args[names.index(name)]
            if isinstance(kept, Meta):
                return None
            is_number = names.index(name) < self.arity and isinstance(kept, (int, float))
            return Tensor._wrap(np.asarray(kept)) if is_number else kept
        raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{name}'")


def saved_properties(record: Op) -> dict[str, property]:
    """`_saved_NAME` and `_raw_saved_NAME` of a record's nodes. (A `__getattr__` would make every attribute slow.)"""
    found = {}
    for name in (n.lstrip("*") for n in (*record.tensor_names, *record.plain_names, "result", "out")):
        found[f"_saved_{name}"] = saved_property(name)
        found[f"_raw_saved_{name}"] = raw_saved_property(name)
    return found


def saved_property(name: str) -> property:
    return property(lambda node: node.op.saved_attribute(node, name))


def raw_saved_property(name: str) -> property:
    def read(node: Node) -> Any:
        from gradtrace.engine.saved_hooks import raw_saved

        return raw_saved(node, name)

    return property(read)


def kind_of(raw: Any) -> str:
    """numpy's letter for the kind of a dtype: b, i or f."""
    kind = "b" if type(raw) is bool else "i" if type(raw) is int else raw.dtype.kind if hasattr(raw, "dtype") else "f"
    return "i" if kind == "u" else kind


def in_c_order(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def call(*raws: Any) -> Any:
        found = kernel(*raws)
        if type(found) is tuple:
            return tuple(np.asarray(each, order="C") for each in found)
        return np.asarray(found, order="C")

    return call


def op(signature: str, kernel: str | Callable[..., Any], /, **fields: Any) -> Op:
    """Adds a record to the registry; the fields are Op's."""
    return Op(signature, kernel, **fields)


def unwrap_nested(value: Any) -> Any:
    """Tensors inside tuples (cat's operands, indices) as arrays."""
    if isinstance(value, Tensor):
        return value.own_array()
    if type(value) is tuple:
        return tuple(unwrap_nested(v) for v in value)
    return value


__all__ = ["AccumulateGrad", "Counter", "Op", "d", "normalise", "op", "records"]
