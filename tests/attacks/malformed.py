"""Malformed input: name -> (arguments, files, exit code, part of the message). Large files are made, not kept."""

import io
import zipfile

import numpy as np

SYNTAX = "syntax error"
DEEP = "nested too deeply"
LIMIT = "--max-"


def npy(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def npz(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return out.getvalue()


def header(text, version=b"\x01\x00"):
    """An .npy file that says this and holds nothing."""
    raw = text.encode() + b"\n"
    return (
        b"\x93NUMPY"
        + version
        + len(raw).to_bytes(2 if version == b"\x01\x00" else 4, "little")
        + raw
    )


# ---- programs, each run as `gradtrace run p.py`

PROGRAMS = {
    "NUL": (b"x = 1\0\ny = 2", 2, "not text"),
    "only NULs": (b"\0" * 1000, 2, "not text"),
    "a BOM in the middle": ("x = 1\n\ufeffy = 2".encode(), 2, SYNTAX),
    "UTF-16": ("x = 1".encode("utf-16"), 2, "UTF-8"),
    "Latin-1": ("é = 1".encode("latin-1"), 2, "UTF-8"),
    "a lone byte of UTF-8": (b"x = '\xc3'", 2, "UTF-8"),
    "a surrogate in UTF-8": (b"x = '\xed\xa0\x80'", 2, "UTF-8"),
    "an encoding that is none": (b"# -*- coding: nothing -*-\nx = (", 2, SYNTAX),
    "an image": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 2, ""),
    "a pickle": (b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins", 2, ""),
    "tabs and blanks": (b"if 1:\n\tx = 1\n        y = 2\n", 2, SYNTAX),
    "indented": (b"  x = 1\n y = 2", 2, SYNTAX),
    "a form feed in a line": (b"x =\f(1", 2, SYNTAX),
    "an escape sequence": (b"x = \x1b[31m1", 2, SYNTAX),
    "an escape sequence in a text": (b"x = '\x1b[31m' + 1", 1, "TypeError"),
    "an escape sequence in a raised text": (
        b"raise ValueError('\\x1b]0;title\\x07 \\x1b[2J')",
        1,
        "ValueError",
    ),
    "bidirectional marks": ("x = 1 \u202e + y(".encode(), 2, SYNTAX),
    "bidirectional marks in a comment": ("x = (  # \u202e evil \u2066\n".encode(), 2, SYNTAX),
    "bidirectional marks raised": (b"raise ValueError('\\u202e \\u2066 x')", 1, "ValueError"),
    "a line separator": ("x = 1\u2028y = 2".encode(), 2, SYNTAX),
    "a zero-width blank": ("x\u200b = 1".encode(), 2, SYNTAX),
    "a no-break blank": ("x\u00a0= 1".encode(), 2, SYNTAX),
    "curly quotes": ("x = \u201ca\u201d".encode(), 2, SYNTAX),
    "a minus that is none": ("x = 3 \u2212 2".encode(), 2, SYNTAX),
    "full-width digits": ("x = \uff11".encode(), 2, SYNTAX),
    "an emoji": ("x = \U0001f4a9".encode(), 2, SYNTAX),
    "a combining sign alone": ("\u0301 = 1".encode(), 2, SYNTAX),
    "a private character": ("\ue000 = 1".encode(), 2, SYNTAX),
    "a noncharacter": ("\uffff = 1".encode(), 2, SYNTAX),
    "a text without an end": (b"x = 'abc\ny = 1", 2, SYNTAX),
    "a long text without an end": (b"x = '''abc\n" * 2 + b"y", 2, SYNTAX),
    "a bracket without an end": (b"x = (1, [2, {3", 2, SYNTAX),
    "a bracket too many": (b"x = 1)", 2, SYNTAX),
    "brackets that do not fit": (b"x = (1]", 2, SYNTAX),
    "an f-string without an end": (b"x = f'{1'", 2, SYNTAX),
    "an f-string with nothing in it": (b"x = f'{}'", 2, SYNTAX),
    "an f-string with a wrong conversion": (b"x = f'{1!z}'", 2, SYNTAX),
    "a backslash at the end": (b"x = 1 + \\", 2, SYNTAX),
    "def without a body": (b"def f():", 2, SYNTAX),
    "else alone": (b"else: x = 1", 2, SYNTAX),
    "return outside": (b"return 1", 2, SYNTAX),
    "break outside": (b"break", 2, SYNTAX),
    "two arguments of one name": (b"def f(a, a): pass", 2, SYNTAX),
    "a default before none": (b"def f(a=1, b): pass", 2, SYNTAX),
    "assigning to a number": (b"1 = x", 2, SYNTAX),
    "assigning to a call": (b"f() = 1", 2, SYNTAX),
    "two stars": (b"*a, *b = [1]", 2, SYNTAX),
    "global after use": (b"def f():\n    x = 1\n    global x", 2, SYNTAX),
    "nonlocal of nothing": (b"def f():\n    nonlocal zz", 2, SYNTAX),
    "a number with a letter": (b"x = 12abc", 2, SYNTAX),
    "an octal number of old": (b"x = 0777", 2, SYNTAX),
    "too many digits": (b"x = " + b"9" * 10000, 2, ""),
    "print of old": (b"print 1", 2, SYNTAX),
    "except of old": (b"try: pass\nexcept ValueError, e: pass", 2, SYNTAX),
    "C": (b"int main() { return 0; }", 2, SYNTAX),
    "HTML": (b"<html><body>x</body></html>", 2, SYNTAX),
    "JSON with null": (b'{"x": null}', 2, "null"),
    "a diff": (b"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n", 2, SYNTAX),
    "a prompt": (b">>> x = 1", 2, SYNTAX),
    "a merge conflict": (b"<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", 2, SYNTAX),
    "match": (b"match 1:\n    case _: pass\n    case 1: pass", 2, SYNTAX),
    "yield": (b"yield 1", 2, SYNTAX),
    "a surrogate in a name asked for": (b"print(getattr(1, '\\ud800'))", 1, "AttributeError"),
    "a surrogate raised": (b"raise ValueError('\\ud800')", 1, "ValueError"),
    "a surrogate as a key": (b"x = {}['\\ud800']", 1, "KeyError"),
    "brackets": (b"x = " + b"(" * 100_000 + b")" * 100_000, 2, ""),
    "lists": (b"x = " + b"[" * 5000 + b"]" * 5000, 2, ""),
    "dicts": (b"x = " + b"{1:" * 5000 + b"1" + b"}" * 5000, 2, ""),
    "minus signs": (b"x = " + b"-" * 200_000 + b"1", 2, ""),
    "tildes": (b"x = " + b"~" * 100_000 + b"1", 2, ""),
    "nots": (b"x = " + b"not " * 100_000 + b"1", 2, ""),
    "lambdas": (b"x = " + b"lambda: " * 50_000 + b"1", 2, ""),
    "conditionals": (b"x = " + b"1 if 1 else " * 50_000 + b"1", 2, ""),
    "powers": (b"x = " + b"1 ** " * 50_000 + b"1", 2, ""),
    "calls": (b"f = lambda a: a\nx = " + b"f(" * 5000 + b"1" + b")" * 5000, 2, ""),
    "attributes": (b"x = a" + b".b" * 200_000, 2, ""),
    "items": (b"x = [1]" + b"[0]" * 200_000, 2, ""),
    "calls of calls": (b"x = f" + b"()" * 200_000, 2, ""),
    "comprehensions": (b"x = " + b"[" * 300 + b"1" + b" for i in [1]]" * 300, 2, ""),
    "ifs in each other": (
        b"".join(b" " * i + b"if 1:\n" for i in range(500)) + b" " * 500 + b"pass",
        2,
        SYNTAX,
    ),
    "elifs": (b"if 0: pass\n" + b"elif 0: pass\n" * 50_000 + b"x = (", 2, ""),
    "decorators": (b"@f\n" * 50_000 + b"def g(): pass", 2, ""),
    "walrus": (b"x = " + b"(a := " * 5000 + b"1" + b")" * 5000, 2, ""),
    "f-strings in each other": (b"x = " + b"f'{" * 200 + b"1" + b"}'" * 200, 2, SYNTAX),
    "a spec in a spec": (b"x = f'{1:{1:{1:{1}}}}'", 2, SYNTAX),
    "stars": (b"x = [" + b"*" * 100_000 + b"a]", 2, SYNTAX),
    "a sum of many": (b"y = x" + b" + x" * 200_000, 2, ""),
    "a line of ten megabytes": (b"x = '" + b"a" * 10_000_000 + b"'", 2, LIMIT),
    "a million operators": (b"x = 1" + b"+1" * 1_000_000, 2, LIMIT),
    "a million lines": (b"x = 1\n" * 1_000_000, 2, LIMIT),
    "a million blank lines, then an error": (b"\n" * 900_000 + b"x = (", 2, SYNTAX),
    "a long line, then an error": (b"x = '" + b"a" * 900_000 + b"' +", 2, SYNTAX),
    "many inputs without a value": (b"+".join(b"v%d" % i for i in range(20_000)), 2, ""),
    "a name of a megabyte": (b"x = " + b"a" * 900_000, 2, "no value for"),
    "a number of a megabyte": (b"x = 1" + b"0" * 900_000, 2, ""),
    "a float of a megabyte": (b"x = [1." + b"0" * 900_000 + b"](", 2, SYNTAX),
}

# ---- values: `gradtrace eval "x*2" --x VALUE`

VALUES = {
    "nothing": ("", 2, "--x"),
    "blanks": ("  ", 2, "--x"),
    "a word": ("abc", 2, "--x"),
    "half an expression": ("1+", 2, "--x"),
    "two numbers": ("1 2", 2, "--x"),
    "uneven rows": ("1,2;3", 2, "different lengths"),
    "uneven lists": ("[[1,2],[3]]", 2, "different lengths"),
    "a comma alone": (",", 2, "--x"),
    "a semicolon": (";", 2, "--x"),
    "a text": ("'abc'", 2, "--x"),
    "None": ("None", 2, "--x"),
    "a dict": ("{'a': 1}", 2, "--x"),
    "a function": ("print", 2, "--x"),
    "a program": ("import os", 2, "--x"),
    "a number too large": ("9" * 400, 0, ""),
    "an int too large": ("int('9' * 400)", 2, "--x"),
    "a NUL in words": ("'\\0'", 2, "--x"),
    "control characters": ("\x1b[31m", 2, "--x"),
    "bidi": ("\u202e1", 2, "--x"),
    "deep lists": ("[" * 3000 + "1" + "]" * 3000, 2, "--x"),
    "an error": ("1/0", 2, "--x"),
    "a loop": ("[i for i in range(10**12)]", 2, "not a program"),
    "no file's name": ("@", 2, "--x"),
    "no such file": ("@absent.npy", 2, "absent.npy"),
    "a folder": ("@out", 2, "--x"),
    "a folder with a suffix": ("@folder.npy", 2, "folder.npy"),
    "a file of unknown kind": ("@p.py", 2, "--x"),
    "a suffix of nothing": ("@a.b/", 2, "--x"),
    "a key of nothing": ("@#x", 2, "--x"),
    "many dots": ("@" + "../" * 2000 + "x.npy", 2, "--x"),
    "a long name": ("@" + "x" * 5000 + ".npy", 2, "--x"),
    "memory": ("@/proc/self/mem", 2, "--x"),
    "a device": ("@/dev/mem.npy", 2, "--x"),
}

# ---- data files: `gradtrace eval "x*2" --x @NAME`

FILES = {
    "empty.npy": (b"", ""),
    "short.npy": (b"\x93NUMPY", ""),
    "text.npy": (b"1,2,3", ""),
    "version.npy": (b"\x93NUMPY\x09\x09\x10\x00", ""),
    "cut.npy": (npy(np.ones(100))[:200], ""),
    "object.npy": (
        header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"),
        "never loaded",
    ),
    "huge.npy": (header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"), ""),
    "overflow.npy": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"),
        "",
    ),
    "negative.npy": (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"), ""),
    "code.npy": (
        header(
            "{'descr': __import__('os').system('touch made'), 'fortran_order': False, 'shape': (1,)}"
        ),
        "",
    ),
    "deep.npy": (header("(" * 5000 + ")" * 5000), ""),
    "long.npy": (header(" " * 50_000), ""),
    "nodict.npy": (header("[1, 2]"), ""),
    "keys.npy": (header("{'descr': '<f8'}"), ""),
    "dtype.npy": (header("{'descr': 'nothing', 'fortran_order': False, 'shape': (1,)}"), ""),
    "void.npy": (
        header("{'descr': '|V8', 'fortran_order': False, 'shape': (1,)}") + b"a" * 8,
        "not numbers",
    ),
    "words.npy": (npy(np.array(["a"])), "not numbers"),
    "complex.npy": (npy(np.ones(1, complex)), "not numbers"),
    "dates.npy": (npy(np.array([1], "M8[s]")), "not numbers"),
    "record.npy": (npy(np.zeros(1, [("a", "f8")])), "not numbers"),
    "archive.npy": (npz(x=npy(np.ones(1))), ""),
    "array.npz": (npy(np.ones(1)), ""),
    "empty.npz": (b"", ""),
    "text.npz": (b"abc", ""),
    "nothing.npz": (npz(), ""),
    "many.npz": (npz(a=npy(np.ones(1)), b=npy(np.ones(1))), "choose one"),
    "cut.npz": (npz(x=npy(np.ones(99)))[:60], ""),
    "member.npz": (npz(x=b"no array"), "not an array"),
    "object.npz": (npz(x=header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}")), ""),
    "bomb.npz": (
        npz(
            x=header("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,)}")
            + bytes(5 * 10**7)
        ),
        "",
    ),
    "empty.json": (b"", ""),
    "cut.json": (b"[1, 2", "not JSON"),
    "null.json": (b"null", "not a number"),
    "text.json": (b'"abc"', "not a number"),
    "object.json": (b'{"a": 1}', "choose a key"),
    "uneven.json": (b"[[1, 2], [3]]", "different lengths"),
    "deep.json": (b"[" * 100_000, ""),
    "nul.json": (b"[1, \0]", "not JSON"),
    "latin.json": (b'["\xe9"]', "not JSON"),
    "two.json": (b"1 2", "not JSON"),
    "long.json": (b"[" + b"9" * 5000 + b"]", ""),
    "comment.json": (b"[1] // x", "not JSON"),
    "control.json": (b'["\x1b[31m"]', ""),
    "utf16.json": ("[1]".encode("utf-16"), "not JSON"),
    "mixed.json": (b"[1, [2]]", "different lengths"),
    "empty.csv": (b"", "no numbers"),
    "head.csv": (b"x,w\n", "no numbers"),
    "word.csv": (b"1,2\n3,abc\n", "not a number"),
    "cell.csv": (b"1,2\n3,\n", "empty cell"),
    "uneven.csv": (b"1,2\n3\n", "values"),
    "nul.csv": (b"1,\0\n2,3\n", ""),
    "latin.csv": (b"1,\xe9\n", "UTF-8"),
    "quote.csv": (b'1,"2\n3,4\n', ""),
    "control.csv": (b"1,\x1b[31m\n2,3", ""),
    "bidi.csv": ("1,\u202e2\n3,4".encode(), "not a number"),
    "utf16.csv": ("1,2".encode("utf-16"), "UTF-8"),
    "cell.tsv": (b"1\t2\n3\t4\t5\n", "values"),
    "binary.txt": (bytes(range(256)), "UTF-8"),
    "wide.csv": (b"1," * 200_000 + b"1\n2\n", "values"),
}

# ---- command lines, in a folder with p.txt ("x*w"), out/ and others

COMMANDS = {
    "no command": (["evall", "x"], 2, "evall"),
    "an option of nothing": (["--nothing"], 2, "--nothing"),
    "no source": (["eval"], 2, "SOURCE"),
    "two sources": (["eval", "x", "w"], 2, ""),
    "an empty source": (["eval", ""], 2, ""),
    "a source of blanks": (["eval", "   "], 2, ""),
    "a comment": (["eval", "# x"], 2, ""),
    "no such file": (["eval", "absent.py"], 2, "absent.py"),
    "a folder": (["eval", "./out"], 2, "out"),
    "a folder that ends in .py": (["run", "folder.py"], 2, "folder.py"),
    "unreadable": (["eval", "/proc/self/mem.py"], 2, ""),
    "a NUL-free long name": (["eval", "./" + "x" * 5000], 2, ""),
    "an option twice": (["eval", "x", "--x", "1", "--x", "2", "--nothing"], 2, "--nothing"),
    "no value": (["eval", "x", "--x"], 2, "--x"),
    "a misspelt option": (["eval", "x", "--x", "1", "--retian-graph"], 2, "--retain-graph"),
    "no variable": (["eval", "x"], 2, "no value for x"),
    "a wrong variable": (["eval", "x", "--w", "1"], 2, "--w"),
    "set without a name": (["eval", "x", "-s", "=1"], 2, "--set"),
    "set without a value": (["eval", "x", "-s", "x"], 2, "--set"),
    "set of nothing": (["eval", "x", "--x", "1", "-s", "q=1"], 2, "q"),
    "a wrong dtype": (["eval", "x", "--x", "1", "--dtype", "int8"], 2, "--dtype"),
    "a wrong seed": (["eval", "x", "--x", "1", "--seed", "a"], 2, "--seed"),
    "a wrong format": (["eval", "x", "--x", "1", "--format", "xml"], 2, "xml"),
    "a wrong colour": (["eval", "x", "--x", "1", "--color", "red"], 2, "--color"),
    "wrong errors": (["eval", "x", "--errors", "xml"], 2, "--errors"),
    "a wrong limit": (["eval", "x", "--x", "1", "--max-memory", "many"], 2, "--max-memory"),
    "a limit below zero": (["eval", "x", "--x", "1", "--max-memory=-1"], 2, "--max-memory"),
    "backward no times": (["eval", "x", "--x", "1", "--backward", "0"], 2, "--backward"),
    "get of nothing": (["eval", "x", "--x", "1", "--get", "q.grad"], 2, "q"),
    "get of an inner name": (["eval", "x", "--x", "1", "--get", "x.__class__"], 2, ""),
    "get of a path": (["eval", "x", "--x", "1", "--get", "x.grad.a.b"], 2, ""),
    "output of nothing": (["eval", "x", "--x", "1", "--output", "q"], 2, "q"),
    "retain of nothing": (["eval", "x", "--x", "1", "--retain-grad", "q"], 2, "q"),
    "inputs of nothing": (["eval", "x", "--x", "1", "--inputs", "q"], 2, "q"),
    "a wrong vector": (["eval", "x*2", "--x", "1", "--grad-tensors", "abc"], 2, "--grad-tensors"),
    "a vector of another shape": (["eval", "x*2", "--x", "1,2", "--grad-tensors", "1,2,3"], 1, ""),
    "params of nothing": (["eval", "x", "--params", "absent.json"], 2, "absent.json"),
    "params that are no object": (["eval", "x", "--params", "list.json"], 2, "object"),
    "params that name a file": (
        ["eval", "x", "--params", "file.json"],
        2,
        "cannot name other files",
    ),
    "params of a folder": (["eval", "x", "--params", "out"], 2, "out"),
    "a picture of nothing": (["graph", "x*w", "--x", "1", "--w", "1", "-o", "g.xyz"], 2, "g.xyz"),
    "a picture in no folder": (
        ["graph", "x*w", "--x", "1", "--w", "1", "-o", "absent/g.svg"],
        2,
        "absent",
    ),
    "a picture on a folder": (
        ["graph", "x*w", "--x", "1", "--w", "1", "-o", "folder.svg"],
        2,
        "folder.svg",
    ),
    "a picture without a suffix": (["graph", "x*w", "--x", "1", "--w", "1", "-o", "g"], 2, "-o"),
    "a picture onto nothing": (["graph", "x*w", "--x", "1", "--w", "1", "-o", ""], 2, "-o"),
    "a wrong style": (["graph", "x*w", "--x", "1", "--w", "1", "--style", "wild"], 2, "--style"),
    "a wrong dpi": (["graph", "x*w", "--x", "1", "--w", "1", "--dpi", "0"], 2, "--dpi"),
    "a wrong depth": (["graph", "x*w", "--x", "1", "--w", "1", "--depth", "deep"], 2, "--depth"),
    "why of nothing": (["why", "x*w", "q", "--x", "1", "--w", "1"], 2, ""),
    "paths of nothing": (["paths", "x*w", "--x", "1", "--w", "1", "--to", "q"], 2, ""),
    "diff of one": (["diff", "x*w"], 2, ""),
    "ops of nothing": (["ops", "qqqq"], 2, "qqqq"),
    "map without data": (["map", "x*2"], 2, "--data"),
    "map of nothing": (["map", "x*2", "--data", "absent.csv"], 2, "absent.csv"),
    "map of a damaged table": (["map", "x*2", "--data", "damaged.npz"], 2, "damaged.npz"),
    "map of a damaged array": (["map", "x*2", "--data", "damaged.npy"], 2, "damaged.npy"),
    "map of Latin-1": (["map", "x*2", "--data", "latin.csv"], 2, "UTF-8"),
    "map of no table": (["map", "x*2", "--data", "empty.csv"], 2, "empty"),
    "map of objects": (["map", "x*2", "--data", "data.npy"], 2, "data.npy"),
    "map of JSON that is none": (["map", "x*2", "--data", "cut.jsonl"], 2, "not JSON"),
    "map of a missing column": (["map", "x*q", "--data", "t.csv"], 2, "q"),
    "map of two columns of one name": (["map", "x", "--data", "twice.csv"], 2, "two columns"),
    "map of an unknown kind": (["map", "x*2", "--data", "p.txt.q"], 2, ""),
    "map of a damaged parquet": (["map", "x*2", "--data", "damaged.parquet"], 2, ""),
    "a wrong range": (["map", "x*2", "--data", "x=1:0:q"], 2, ""),
    "hessian of a vector": (["hessian", "x*2", "--x", "1,2"], 2, "of one number"),
    "jacobian of nothing": (["jacobian", "1"], 2, ""),
    "check of nothing": (["check", "1"], 2, ""),
    "completion of nothing": (["completion", "csh"], 2, "csh"),
    "stdin twice": (["eval", "-", "--x", "@-"], 2, ""),
    "an argument that is not text": (["eval", b"\xff\xfe"], 2, ""),
    "an option that is not text": (["eval", "x", b"--\xff", "1"], 2, ""),
    "a value that is not text": (["eval", "x", "--x", b"\xff"], 2, ""),
    "a bidi option": (["eval", "x", "--\u202ex", "1"], 2, ""),
    "an option with an escape": (["eval", "x", "--\x1b[31m", "1"], 2, ""),
}
BESIDE = {
    "p.txt": b"x*w",
    "list.json": b"[1]",
    "file.json": b'{"x": "@secret.txt"}',
    "t.csv": b"x,w\n1,2\n",
    "twice.csv": b"x,x\n1,2\n",
    "damaged.npz": npz(x=npy(np.ones(99)))[:60],
    "damaged.npy": header("{'descr': ((((")[:30],
    "latin.csv": b"x\n1\n\xe9\n",
    "empty.csv": b"",
    "cut.jsonl": b'{"x": 1}\n{"x":',
    "damaged.parquet": b"PAR1abc",
    "p.txt.q": b"x\n1\n",
}
FOLDERS = ("folder.npy", "folder.py", "folder.svg")
