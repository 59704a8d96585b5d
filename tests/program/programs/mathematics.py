# The math module
import math
print(math.sqrt(2), math.floor(-1.5), math.ceil(1.2), math.trunc(-1.7), math.factorial(10), math.comb(5, 2), math.perm(5, 2), math.gcd(12, 18), math.lcm(4, 6), math.hypot(3, 4), math.log(8, 2), math.log2(8), math.log10(1000), math.exp(1), math.pow(2, 3), math.fmod(7, 3), math.copysign(1, -2), math.isnan(math.nan), math.isinf(-math.inf), math.isclose(0.1 + 0.2, 0.3), math.degrees(math.pi), math.radians(180), math.prod([1, 2, 3]), math.fsum([0.1] * 10), math.erf(0.5), math.gamma(5), math.modf(2.5), math.dist([0, 0], [3, 4]), math.isqrt(17), math.tau, math.atan2(1, 1), math.tanh(0.5))
for f, a in ((math.sqrt, -1), (math.log, 0), (math.acos, 2), (math.factorial, -1), (math.exp, 1000), (math.pow, 0)):
    try: print(f(a))
    except Exception as err: print(type(err).__name__, err)
