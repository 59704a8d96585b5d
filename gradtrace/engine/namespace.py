"""The three array namespaces on which a derivative rule can run.

    SCALAR   Python floats, through the records' scalar kernels (falling back to 0-d arrays)
    ARRAY    numpy arrays, through the records' kernels; nothing is recorded
    TRACED   Tensors, through the records themselves: create_graph

A name of `xp` is the name of an operator record, with the record's positional arguments.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.lazy import np
from gradtrace.engine.op import FLOAT_TRAPS, Op, records
from gradtrace.engine.tensor import hooks_into_ops, normalise


class _Namespace:
    """Fetches the record of a name on first use and keeps what it makes of it."""

    def __getattr__(self, name: str) -> Any:
        record = records.get(name)
        if record is None:
            hooks_into_ops["load"](name)
            record = records[name]
        made = self.make(record)
        setattr(self, name, made)
        return made

    def make(self, record: Op) -> Callable[..., Any]:
        raise NotImplementedError


class _Traced(_Namespace):
    def make(self, record: Op) -> Callable[..., Any]:
        return record


class _Array(_Namespace):
    def make(self, record: Op) -> Callable[..., Any]:
        kernel, arity = record.kernel, record.arity
        if record.variadic or (record.promote is not None and type(record._kernel) is str):
            return kernel
        if record.promote is not None:

            def on_mixed(*args: Any) -> Any:
                if float in map(type, args):  # a saved scalar; a kernel of our own expects arrays
                    args = tuple(np.asarray(a) if type(a) is float and i < arity else a for i, a in enumerate(args))
                return kernel(*args)

            return on_mixed

        operands = range(arity)

        def on_arrays(*args: Any) -> Any:
            for i in operands:
                if type(args[i]) is not np.ndarray:
                    break
            else:
                return kernel(*args)
            return kernel(*(np.asarray(a) if i < arity and a is not None else a for i, a in enumerate(args)))

        return on_arrays


class _Scalar(_Namespace):
    def make(self, record: Op) -> Callable[..., Any]:
        scalar = record.scalar

        def on_floats(*args: Any) -> Any:
            if scalar is not None:
                try:
                    return scalar(*args)
                except FLOAT_TRAPS:
                    pass
            # Asked for only here: it imports numpy.
            own = (np.float64(a) if type(a) is float and i < record.arity else a for i, a in enumerate(args))
            return normalise(getattr(ARRAY, record.name)(*own))

        return on_floats


ARRAY = _Array()
SCALAR = _Scalar()
TRACED = _Traced()
