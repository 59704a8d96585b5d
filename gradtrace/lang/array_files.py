"""Files of numpy that a program reads and writes: `np.load`, `np.loadtxt`, `np.genfromtxt`, `np.save`, `np.savetxt`."""

from __future__ import annotations

import io
import re
from contextlib import nullcontext

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.lang import permission, wall
from gradtrace.lang.arrays import from_numpy, to_numpy, to_numpy_argument
from gradtrace.lang.budget import Meter
from gradtrace.lang.program_files import Files, TextFile, decoded, name_of
from gradtrace.lang.strings import Strings
from gradtrace.lang.values import named
from gradtrace.lang.words import Names


def numpy_names(meter: Meter) -> Names:
    """Return numpy's functions that read and write files, for one run."""

    def text_reader(name: str) -> AnyFunction:
        def call(fname: Any, *args: Any, **how: Any) -> Any:
            text = fname.read() if type(fname) is TextFile else decoded(permission.read(name_of(fname), meter))
            given = [to_numpy_argument(one, bool(place)) for place, one in enumerate(args)]  # the first is dtype
            named_ones = {key: to_numpy_argument(value, key != "dtype") for key, value in how.items()}
            charge_table(text, (*given, *named_ones.values()), meter)
            with wall.lowered():  # its first call imports modules
                found = getattr(np, name)(NamedText(text, name_of(fname)), *given, **named_ones)
            if isinstance(found, np.ndarray) and (found.dtype.kind not in "fiub" or found.dtype.names):
                raise TypeError(f"{name} reads numbers in gradtrace scripts, not {found.dtype}")
            return from_numpy(found)

        return named(call, name)

    def load(file: Any, *_: Any, **__: Any) -> Any:
        content = permission.read(name_of(file), meter)
        if content[:2] == b"PK":
            return archive(content, meter)
        return from_numpy(read_array(io.BytesIO(content), meter))

    def save(file: str, arr: Any) -> None:
        if type(file) is not str:
            raise TypeError(f"expected str, not {type(file).__name__}")
        array = np.asarray(to_numpy(arr))
        if array.dtype.kind not in "fiub":  # the bytes of an array of objects are their addresses
            raise TypeError(f"np.save writes numbers in gradtrace scripts, not {array.dtype}")
        header = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
        with permission.create(file if file.endswith(".npy") else file + ".npy", meter) as out:
            np.lib.format.write_array_header_1_0(out, header)
            out.write(array.tobytes())

    def savetxt(
        fname: Any, X: Any, fmt: str = "%.18e", delimiter: str = " ", newline: str = "\n", header: str = "",
        footer: str = "", comments: str = "# ", encoding: str | None = None,
    ) -> None:  # fmt: skip
        texts = (fmt, delimiter, newline, header, footer, comments)
        for text in texts:
            if type(text) is not str:
                raise TypeError(f"expected a str, not {type(text).__name__}")
        with nullcontext(fname) if type(fname) is TextFile else Files(meter).open(fname, "w") as out:
            table = to_numpy(X)
            charge_format(table, *texts, meter)
            np.savetxt(out, table, *texts)

    functions = (load, save, savetxt, text_reader("loadtxt"), text_reader("genfromtxt"))
    return {function.__name__: named(function, function.__name__) for function in functions}


class NamedText(io.StringIO):
    """The text of a file, which numpy's warnings call by the file's name."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name

    def __str__(self) -> str:
        return self.name


def charge_table(text: str, options: tuple[Any, ...], meter: Meter) -> None:
    """Charge for reading a table with numpy's options, some of which have an item for each column."""
    columns = max((np.size(one) for one in options if type(one) is not str), default=0)
    size = len(text) + (text.count("\n") + 1) * columns
    meter.count_items(size)
    meter.reserve(16 * size)
    for option in options:
        if type(option) is str:
            Strings(meter).check(option)


def charge_format(
    table: Any, fmt: str, delimiter: str, newline: str, header: str, footer: str, comments: str, meter: Meter
) -> None:
    """Charge for writing a table: its longest row has the widths that its format names."""
    width = sum(int(digits) for digits in re.findall(r"\d+", Strings(meter).check(fmt)))
    rows, columns = (*np.shape(table), 1, 1)[:2]
    row = columns * (len(fmt) + len(delimiter) + width + 32) + len(newline)
    meter.reserve(4 * row)
    for text in (header, footer):
        meter.reserve(4 * (len(text) + text.count("\n") * len(comments)))
    meter.count_text(rows * row)


def read_array(file: Any, meter: Meter) -> Any:
    """Return the array of an .npy file; its size is reserved before it is made."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = careful(read, file)
    if dtype.kind not in "fiub" or dtype.names or dtype.itemsize > 8:
        raise ValueError(f"the file holds {dtype}, not numbers; save it as float64")
    meter.reserve(dtype.itemsize * int(np.prod(shape, dtype=object)))
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def careful(job: Any, *args: Any) -> Any:
    """Return the result of a function that reads a file's own structure; ValueError if that fails."""
    try:
        return job(*args)
    except Exception as error:  # also a MemoryError or RecursionError of Python's parser
        raise ValueError(f"the file is damaged: {str(error) or type(error).__name__}") from None


def archive(content: bytes, meter: Meter) -> dict[str, Any]:
    """Return the arrays of an .npz file by their names."""
    found = {}
    for name, member in members(content, meter):
        found[name.removesuffix(".npy")] = from_numpy(read_array(io.BytesIO(member()), meter))
    return found


def members(content: bytes, meter: Meter) -> list[tuple[str, Callable[[], bytes]]]:
    """Return the members of a zip file, each with a function that reads it within the budget."""
    with wall.lowered():
        import zipfile

    def reader(info: Any) -> Callable[[], bytes]:
        def read() -> bytes:
            meter.reserve(2 * info.file_size)
            meter.count_items(info.file_size)
            return bytes(careful(whole.read, info))

        return read

    whole = careful(zipfile.ZipFile, io.BytesIO(content))
    return [(info.filename, reader(info)) for info in whole.infolist()]
