# namedtuple, defaultdict, Counter, deque, OrderedDict
from collections import namedtuple, defaultdict, Counter, deque, OrderedDict
Point = namedtuple("Point", ["x", "y"], defaults=[0])
p = Point(3)
print(p, p.x + p.y, Point._make([1, 2]), p._asdict(), isinstance(p, tuple), Point.__name__, [*p], p == (3, 0))
x, y = p
class Point3(Point):
    def norm(self): return (self.x ** 2 + self.y ** 2) ** 0.5
print(Point3(3, 4).norm(), Point3(1, 2))
try: p.x = 5
except AttributeError as err: print(err)
try: Point()
except TypeError as err: print("missing" in str(err))
dd = defaultdict(lambda: defaultdict(int)); dd["a"]["b"] += 1; print(dd["a"]["b"], len(dd), "z" in dd)
c = Counter("mississippi"); print(c.most_common(2), c["z"], c + Counter("s"), sorted(c.elements())[:3])
q = deque(maxlen=3)
for i in range(5): q.append(i)
q.appendleft(9); q.rotate(1); print(list(q), q[0], len(q), q.pop())
o = OrderedDict([("b", 1), ("a", 2)]); o.move_to_end("b"); print(list(o), o)
