# Integers and floats
print(10 ** 30, 2 ** 100 % 97, -7 // 2, -7 % 3, 7 // -2, 7.5 // 2, -7.5 % 2, 1e308 * 10, 5 / 2, 4 / 2, 2 ** 0.5, (-8) ** (1 / 3) == 0 if False else "c", 0.1 + 0.2 == 0.3, 1_000_000, 1e3, 1.5e-7, 123456789.123456789, 1e16, 1e15, 0.00001, 1 / 3)
print(int(-3.7), round(-3.5), round(4.5), round(1234.5678, -2), round(5, 1), abs(-0.0), divmod(-7, 2), divmod(7.5, 2), pow(2, -1), int("  12 "), int("-0b11", 0), float("1e3"), float(" inf "), bool("False"))
print(5 == 5.0, hash(5) == hash(5.0), True == 1, "1" == 1, None == False, [] == (), 1 is True if False else "skip", 3 < 3.5, float("nan") == float("nan"))
print(~0, 5 & -2, -5 >> 1, 1 << 70, 0xff ^ 0x0f, -1 // 10, bin(-5), hex(-255), oct(64), (255).bit_length(), 3 .real)
