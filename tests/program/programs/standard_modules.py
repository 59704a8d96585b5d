from __future__ import print_function, annotations
import re, time, timeit, argparse, dataclasses, enum, json, string, textwrap, logging, os, sys, contextlib, heapq, bisect, operator, functools, itertools, collections, types, typing, abc, datetime, random, math, copy, pprint, unicodedata, statistics
from dataclasses import dataclass, field, asdict
from enum import Enum, auto, IntEnum
from typing import NamedTuple, List, Optional
@dataclass
class Config:
    lr: float = 0.1
    layers: List[int] = field(default_factory=lambda: [1, 2])
    name: str = "x"
    def total(self): return sum(self.layers)
c = Config(name="y")
print(c, c.total(), asdict(c), c == Config(name="y"), dataclasses.replace(c, lr=2))
@dataclass(frozen=True, order=True)
class P:
    x: int
    y: int = 3
    z: typing.ClassVar[int] = 9
    def __post_init__(self):
        object.__setattr__(self, "x", self.x + 1)
p = P(1)
print(p, hash(p) == hash(P(1)), P(1) < P(2), P.z)
try: p.x = 3
except dataclasses.FrozenInstanceError as e: print("frozen", e)
try: P()
except TypeError as e: print(e)
class Color(Enum):
    RED = 1
    GREEN = 2
    def hi(self): return self.name.lower()
print(Color.RED, repr(Color.RED), Color.RED.value, Color["GREEN"], Color(2), list(Color), Color.RED.hi(), Color.RED is Color(1), len(Color))
class M(str, Enum):
    A = "a"
    B = "b"
print(M.A == "a", M("b"), [m.value for m in M])
class N(IntEnum):
    X = auto()
    Y = auto()
print(N.Y + 1, N.X < N.Y, isinstance(N.X, Color))
try: Color(7)
except ValueError as e: print(e)
class Pt(NamedTuple):
    x: float
    y: float = 2.0
    def norm(self): return (self.x**2 + self.y**2) ** 0.5
print(Pt(3.0), Pt(3.0, 4.0).norm(), Pt(1)._replace(y=5) if False else "")
m = re.match(r"(\w+)\s(?P<n>\d+)", "abc 123 z")
print(m, m.group(0), m.groups(), m["n"], m.span(), re.findall(r"\d", "a1b2"), re.sub(r"(\d)", r"<\1>", "a1"), re.sub("b", lambda q: q.group().upper(), "abc"), re.split(r"[,;]\s*", "a, b;c"))
pat = re.compile(r"[a-z]+", re.I)
print(pat.findall("Ab cD"), pat.pattern, [x.start() for x in pat.finditer("a b")], pat)
print(m.re.groupindex, m.expand(r"\2-\1"), m.re is re.compile(m.re), type(m), type(pat), isinstance(m, re.Match), copy.copy(pat) == pat, {pat: 1})
print(pat.subn(repl="-", string="ab c", count=1), pat.fullmatch("ab", 1), re.split("b", "abcbd", maxsplit=1), list(map(pat.sub, "x", "y")))
try: pat.search()
except TypeError as e: print(e)
parser = argparse.ArgumentParser(description="Test")
parser.add_argument("--lr", type=float, default=0.1, help="rate (default: %(default)s)")
parser.add_argument("--epochs", "-e", type=int, default=3)
parser.add_argument("--no-cuda", action="store_true", default=False)
parser.add_argument("--mode", choices=["a", "b"], default="a")
args = parser.parse_args([])
print(args, args.lr, vars(args), "lr" in args)
args.device = "cpu"
print(parser.parse_args(["--lr", "0.5", "-e", "7", "--no-cuda"]), args.device)
print(parser.format_help())
print(json.dumps({"a": [1, 2.5, None, True], "b": "x"}, indent=2), json.loads('{"a": [1, 2]}'))
print(string.ascii_letters, string.punctuation)
print(textwrap.dedent("""\
   hi
     there"""))
pprint.pprint({"a": list(range(30)), "b": "c" * 60})
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")
logging.info("hi %d", 3)
logging.getLogger("x").warning("w %s", "z")
print(os.path.join("a", "b.txt"), os.path.splitext("a.txt"), os.path.exists("x"))
@contextlib.contextmanager
def ctx(a):
    print("in", a)
    try: yield a * 2
    finally: print("out")
with ctx(3) as v: print(v)
try:
    with ctx(1): raise ValueError("q")
except ValueError as e: print("got", e)
with contextlib.suppress(KeyError): {}["a"]
h = [3, 1, 2]; heapq.heapify(h); heapq.heappush(h, 0); print(heapq.heappop(h), h, heapq.nlargest(2, h), bisect.bisect([1, 2, 3], 2))
print(operator.attrgetter("name")(c), operator.itemgetter(1)([1, 2]), functools.reduce(operator.add, [1, 2, 3]))
cm = collections.ChainMap({"a": 1}, {"b": 2}); print(cm["b"], dict(cm))
ns = types.SimpleNamespace(a=1, b="x"); ns.c = 3; print(ns, ns.c)
class Base(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
class D(Base):
    def f(self): return 1
print(D().f())
try: Base()
except TypeError as e: print(e)
class Meta2(metaclass=abc.ABCMeta):
    pass
print(datetime.datetime(2020, 1, 2, 3).strftime("%Y/%m/%d"), datetime.timedelta(days=1, seconds=5), datetime.date(2020, 1, 1).year)
r = random.Random(3); print(r.random(), r.choice([1, 2, 3]))
random.seed(1); print(random.random(), random.sample(range(10), 3), random.choices([1, 2], k=3))
a, b = itertools.tee([1, 2]); print(list(a), list(b))
class S:
    _i = None
    def __new__(cls, *a):
        if cls._i is None: cls._i = super().__new__(cls)
        return cls._i
    def __init__(self, v=0): self.v = v
    def __del__(self): pass
print(S(1) is S(2), S(3).v)
print([n for n in dir(c) if not n.startswith("_")], unicodedata.normalize("NFD", "é") == "e\u0301", statistics.mean([1, 2, 3]))
class T:
    @functools.cached_property
    def v(self): print("once"); return 5
t = T(); print(t.v, t.v)
print(timeit.timeit(lambda: 1, number=3) >= 0, time.strftime("%Y") >= "2020", sys.version_info >= (3, 7), sys.version_info.major, callable(time.time))
moment = time.strptime("2020-02-03", "%Y-%m-%d")
print(moment, isinstance(moment, time.struct_time), moment.tm_yday, moment[:3], time.strftime("%j", moment), {moment: 1}[moment])
print(time.struct_time(range(9)), time.asctime(time.gmtime(0)), datetime.date(2020, 1, 2).timetuple().tm_yday, copy.copy(moment) == moment)
@dataclasses.dataclass
class Fielded:
    x: int
    y: list = dataclasses.field(default_factory=list, metadata={"unit": "m"}, repr=False)
    _: dataclasses.KW_ONLY
    z: float = 2.0
for f in dataclasses.fields(Fielded):
    print(f.name, f.default is dataclasses.MISSING, f.default_factory is dataclasses.MISSING, f.init, f.repr, f.compare, f.hash, f.kw_only, dict(f.metadata), repr(f).rpartition(",")[2])
for wrong in (lambda: dataclasses.field(default=1, default_factory=list), lambda: dataclasses.field(unknown=1)):
    try: wrong()
    except (TypeError, ValueError) as e: print(e)
for i in dir(): pass
print(__name__, type(__file__))
@functools.total_ordering
class O:
    def __init__(self, x): self.x = x
    def __eq__(self, o): return self.x == o.x
    def __lt__(self, o): return self.x < o.x
print(O(1) <= O(2), O(3) > O(1))
