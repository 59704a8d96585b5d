"""Convert values from the command line to tensors.

    2   -1e-3   nan                a number
    1,2,3                          a vector; "5," is a vector of one
    "1,2;3,4"                      a matrix, row by row
    [[1,2],[3,4]]  "randn(3,4)"    any constant expression
    @FILE.npy                      an array (never one that holds Python objects)
    @FILE.npz#KEY                  one of several arrays; KEY may be omitted if there is only one
    @FILE.csv  @FILE.csv#COLUMN    a table of numbers, with or without a line of names; also
                                   .tsv and .txt
    @FILE.json  @FILE.json#KEY     a number or nested lists; "NaN", "Infinity" and
                                   "-Infinity" as strings
    @-                             any of these, from stdin

Tables lose axes of length 1, as with numpy.loadtxt: one column or one row is a vector, one cell a
scalar. Every malformed value is a UsageError that names the option and, in a file, the line.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.errors import GradtraceError, UsageError

if TYPE_CHECKING:
    from gradtrace.engine import Tensor

NUMBERS = 'a number, 1,2,3, "1,2;3,4", [[1,2],[3,4]], a constant expression, or @FILE'

DATA_SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".txt", ".json")

# evaluates a constant expression: (text, name for errors) -> its value
Evaluate = Callable[[str, str], Any]


def read(text: str, option: str, evaluate: Evaluate) -> Any:
    """Return the value of `text`: a float, nested lists of floats, a bool, or an ndarray.

    `option` ("--x") names it in errors.
    """
    text = text.strip()
    if not text:
        raise UsageError(f"{option}: empty value", f"a value is {NUMBERS}")
    if text.startswith("@"):
        from gradtrace.cli import datafiles

        return datafiles.read(text[1:], option)
    raw = literal(text)
    return raw if raw is not None else constant(text, option, evaluate)


def literal(text: str) -> Any:
    """Parse a number, `1,2,3` or `1,2;3,4` to floats and lists; None for other texts and for uneven
    rows.
    """
    number = as_float(text)
    if number is not None:
        return number
    rows = [
        [as_float(cell) for cell in row.split(",")] for row in text.removesuffix(",").split(";")
    ]
    if any(cell is None for row in rows for cell in row) or len({len(row) for row in rows}) > 1:
        return None
    return rows if ";" in text else rows[0]


def as_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def constant(text: str, option: str, evaluate: Evaluate) -> Any:
    """Evaluate a constant expression, or several separated by `;`, which become rows."""
    if ";" not in text:
        return plain(evaluate(text, option), option, text)
    rows = [constant(row, option, evaluate) for row in map(str.strip, text.split(";")) if row]
    if not rows:
        raise UsageError(f"{option}: '{text}' holds no numbers", f"a value is {NUMBERS}")
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
    return check_even([row if isinstance(row, list) else [row] for row in rows], option)


def plain(value: Any, option: str, text: str) -> Any:
    """Convert the value of a constant expression to raw data; tensors may be nested in
    sequences.
    """
    if isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return to_float(value, option)
    if hasattr(value, "requires_grad"):
        return scalar_or_array(value)
    if isinstance(value, (list, tuple)):
        return check_even(nested(value, option, text), option)
    kind = "" if value is None else f"a {type(value).__name__}, "
    raise UsageError(
        f"{option}: '{text}' is {kind}not a number or a tensor", f"a value is {NUMBERS}"
    )


def nested(value: Any, option: str, text: str) -> Any:
    if isinstance(value, (list, tuple)):
        return [nested(item, option, text) for item in value]
    if hasattr(value, "requires_grad"):
        return value.tolist()
    return plain(value, option, text)


def scalar_or_array(tensor: Tensor) -> Any:
    raw = tensor._data
    return raw if isinstance(raw, (float, bool)) else raw.copy()


def to_float(value: int, option: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UsageError(f"{option}: the number is too large for float64") from None


def check_even(rows: Any, option: str) -> Any:
    """Return nested lists unchanged; raise UsageError if rows of one level differ in length."""
    if shape_of(rows) is None:
        raise UsageError(
            f"{option}: the rows are of different lengths", "make them equal, or reshape a vector"
        )
    return rows


def shape_of(data: Any) -> tuple[int, ...] | None:
    """Return the shape of nested lists; None if they are ragged."""
    if not isinstance(data, list):
        return ()
    if not data:
        return (0,)
    shapes = {shape_of(item) for item in data}
    inner = shapes.pop()
    return None if shapes or inner is None else (len(data), *inner)


def tensor(raw: Any, dtype: str, floating: bool) -> Tensor:
    """Return a new tensor in the run's floating dtype; if not `floating`, integer and bool data
    keep their dtype.

    A scalar in float64 stays a Python float, so that numpy is not needed.
    """
    from gradtrace.engine import Tensor

    if isinstance(raw, float) or (isinstance(raw, bool) and floating):
        return (
            Tensor._wrap(float(raw))
            if dtype == "float64"
            else Tensor._wrap(array(float(raw), dtype))
        )
    if isinstance(raw, bool):
        return Tensor._wrap(raw)
    if isinstance(raw, list):
        return Tensor._wrap(array(raw, "bool" if not floating and all_bools(raw) else dtype))
    keep = not floating and raw.dtype.kind in "iub"
    return Tensor._wrap(array(raw, raw.dtype if keep else dtype))


def all_bools(data: Any) -> bool:
    """Whether nested lists contain at least one value, and only True and False."""
    return isinstance(data, bool) or (
        isinstance(data, list) and bool(data) and all(map(all_bools, data))
    )


def whole(number: int) -> Any:
    """Return a Python int as int64 data, or as a float if it does not fit into int64."""
    return array(number, "int64") if -(2**63) <= number < 2**63 else float(number)


def array(raw: Any, dtype: Any) -> Any:
    from gradtrace.engine.data.lazy import np

    return np.array(raw, dtype=dtype, order="C")


def assignment(text: str) -> tuple[str, str]:
    """Split the NAME=VALUE of --set into a normalised name and the text of the value."""
    from gradtrace.cli.argv import normal

    name, equals, value = text.partition("=")
    name = normal(name.strip())
    if not equals or not name.isidentifier():
        raise UsageError(f"--set: '{text}' is not NAME=VALUE", "for instance -s w=1")
    return name, value


def parameters(name: str, evaluate: Evaluate) -> dict[str, Any]:
    """Read the file of --params: an object of names with numbers, nested lists, or texts in this
    module's syntax.
    """
    from gradtrace.cli import datafiles

    document = datafiles.read_json(name, "--params")
    if not isinstance(document, dict):
        raise UsageError(
            f"--params: {name} does not hold an object", 'it is to look like {"x": 2, "w": [1, 2]}'
        )
    return {key: parameter(value, f"--params: {key}", evaluate) for key, value in document.items()}


def parameter(value: Any, option: str, evaluate: Evaluate) -> Any:
    from gradtrace.cli import datafiles

    if not isinstance(value, str):
        return datafiles.from_json(value, option)
    if value.strip().startswith("@"):
        raise UsageError(
            f"{option}: a params file cannot name other files", "give that one as an option"
        )
    return read(value, option, evaluate)


def wrong(option: str, text: str, error: GradtraceError) -> UsageError:
    """Return the error for a value that is not a constant expression."""
    hint = f"a file is written @{text}" if text.endswith(DATA_SUFFIXES) else f"a value is {NUMBERS}"
    return UsageError(f"{option}: '{text}' is not a value: {error.message}", hint)
