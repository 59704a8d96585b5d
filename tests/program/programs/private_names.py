# Names that begin with two underscores
class P:
    def __secret(self, __x=1): return __x
    def call(self): return self.__secret(), self.__secret(5)
    __attr = 3
    def get(self): return self.__attr, P.__attr
class Q(P):
    __attr = 4
    def mine(self): return self.__attr
print(P().call(), Q().get(), Q().mine(), hasattr(P(), "_P__attr"), hasattr(P(), "__attr"))
def __f(): return 1
class W:
    def go(self):
        try: return __f()
        except NameError as err: return str(err)
print(W().go())
