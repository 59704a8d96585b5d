"""The three array namespaces on which a derivative rule can run.

    SCALAR   Python floats, through the records' scalar kernels (falling back to 0-d arrays)
    ARRAY    numpy arrays, through the records' kernels; nothing is recorded
    TRACED   Tensors, through the records themselves: create_graph

A name of `xp` is the name of an operator record, with the record's positional arguments.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.lazy import np
from gradtrace.engine.op import FLOAT_TRAPS, Op, records
from gradtrace.engine.tensor import hooks_into_ops, normalise

if TYPE_CHECKING:
    from gradtrace.engine.types import Kernel, Raw


class _Namespace:
    """Looks up the record of a name on first use and caches the function made from it."""

    def __getattr__(self, name: str) -> Kernel:
        record = records.get(name)
        if record is None:
            hooks_into_ops["load"](name)
            record = records[name]
        made = self.make(record)
        setattr(self, name, made)
        return made

    def make(self, record: Op) -> Kernel:
        raise NotImplementedError


class _Traced(_Namespace):
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Op: ...

    def make(self, record: Op) -> Kernel:
        return record


class _Array(_Namespace):
    def make(self, record: Op) -> Kernel:
        kernel: Kernel = record.kernel
        arity = record.arity
        if record.variadic or (record.promote is not None and type(record._kernel) is str):
            return kernel
        if record.promote is not None:

            def on_mixed(*args: Raw) -> Any:
                if float in map(type, args):  # a saved scalar; gradtrace's kernels expect arrays
                    args = tuple(np.asarray(a) if type(a) is float and i < arity else a for i, a in enumerate(args))
                return kernel(*args)

            return on_mixed

        operands = range(arity)

        def on_arrays(*args: object) -> Any:
            for i in operands:
                if type(args[i]) is not np.ndarray:
                    break
            else:
                return kernel(*args)
            return kernel(*(np.asarray(a) if i < arity and a is not None else a for i, a in enumerate(args)))

        return on_arrays


class _Scalar(_Namespace):
    def make(self, record: Op) -> Kernel:
        scalar = record.scalar

        def on_floats(*args: object) -> Any:
            if scalar is not None:
                try:
                    return scalar(*args)
                except FLOAT_TRAPS:
                    pass
            # Only here, because this imports numpy.
            own = (np.float64(a) if type(a) is float and i < record.arity else a for i, a in enumerate(args))
            return normalise(getattr(ARRAY, record.name)(*own))

        return on_floats


ARRAY = _Array()
SCALAR = _Scalar()
TRACED = _Traced()
