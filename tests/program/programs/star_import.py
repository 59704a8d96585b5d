# from math import *
from math import *
print(sin(0), pi, floor(2.5))
