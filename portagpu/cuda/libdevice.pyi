# Made from the package's own tables by `python -m tools.documents`; a test fails when it is stale.
"""``cuda.libdevice``: CUDA's device functions by their own names (``libdevice.sinf``, ``libdevice.fast_powf``)."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from portagpu.dialect.names import VectorMaker
from portagpu.types import Type

_Number: TypeAlias = complex | np.number[Any] | np.bool_
_Kind: TypeAlias = Type | VectorMaker | DTypeLike

class _Int(int):
    def view(self, dtype: _Kind) -> Any:
        """Its bits as another type."""

class _Float(float):
    def view(self, dtype: _Kind) -> Any:
        """Its bits as another type."""

def acos(x: _Number) -> _Float:
    """Arc cosine, in radians."""

def acosh(x: _Number) -> _Float:
    """Inverse hyperbolic cosine."""

def asin(x: _Number) -> _Float:
    """Arc sine, in radians."""

def asinh(x: _Number) -> _Float:
    """Inverse hyperbolic sine."""

def atan(x: _Number) -> _Float:
    """Arc tangent, in radians."""

def atanh(x: _Number) -> _Float:
    """Inverse hyperbolic tangent."""

def cbrt(x: _Number) -> _Float:
    """Cube root."""

def ceil(x: _Number) -> _Float:
    """Smallest whole number that is not below x."""

def cos(x: _Number) -> _Float:
    """Cosine of an angle in radians."""

def cosh(x: _Number) -> _Float:
    """Hyperbolic cosine."""

def cospi(x: _Number) -> _Float:
    """Cosine of x times pi."""

def erf(x: _Number) -> _Float:
    """Error function."""

def erfc(x: _Number) -> _Float:
    """Complementary error function."""

def exp(x: _Number) -> _Float:
    """e to the power of x."""

def exp10(x: _Number) -> _Float:
    """10 to the power of x."""

def exp2(x: _Number) -> _Float:
    """2 to the power of x."""

def expm1(x: _Number) -> _Float:
    """e to the power of x, minus 1; exact near 0."""

def fabs(x: _Number) -> _Float:
    """Absolute value."""

def floor(x: _Number) -> _Float:
    """Largest whole number that is not above x."""

def lgamma(x: _Number) -> _Float:
    """Logarithm of the absolute value of the gamma function."""

def log(x: _Number) -> _Float:
    """Natural logarithm."""

def log10(x: _Number) -> _Float:
    """Logarithm to base 10."""

def log1p(x: _Number) -> _Float:
    """Natural logarithm of 1 + x; exact near 0."""

def log2(x: _Number) -> _Float:
    """Logarithm to base 2."""

def logb(x: _Number) -> _Float:
    """Exponent of x as a float."""

def rint(x: _Number) -> _Float:
    """Nearest whole number; halves go to the even one."""

def round(x: _Number) -> _Float:
    """Nearest whole number; halves go away from 0."""

def rsqrt(x: _Number) -> _Float:
    """1 / sqrt(x)."""

def sin(x: _Number) -> _Float:
    """Sine of an angle in radians."""

def sinh(x: _Number) -> _Float:
    """Hyperbolic sine."""

def sinpi(x: _Number) -> _Float:
    """Sine of x times pi."""

def sqrt(x: _Number) -> _Float:
    """Square root."""

def tan(x: _Number) -> _Float:
    """Tangent of an angle in radians."""

def tanh(x: _Number) -> _Float:
    """Hyperbolic tangent."""

def tgamma(x: _Number) -> _Float:
    """Gamma function."""

def trunc(x: _Number) -> _Float:
    """Whole number next to x towards 0."""

def atan2(x: _Number, y: _Number) -> _Float:
    """Angle of the point (y, x), in radians: the first argument is the ordinate."""

def copysign(x: _Number, y: _Number) -> _Float:
    """x with the sign of y."""

def fdim(x: _Number, y: _Number) -> _Float:
    """x - y where that is positive, else 0."""

def fmax(x: _Number, y: _Number) -> _Float:
    """The larger number; a NaN counts as missing."""

def fmin(x: _Number, y: _Number) -> _Float:
    """The smaller number; a NaN counts as missing."""

def fmod(x: _Number, y: _Number) -> _Float:
    """Remainder of x / y with the sign of x."""

def hypot(x: _Number, y: _Number) -> _Float:
    """sqrt(x*x + y*y), without overflow."""

def nextafter(x: _Number, y: _Number) -> _Float:
    """The next float after x towards y."""

def pow(x: _Number, y: _Number) -> _Float:
    """x to the power of y."""

def remainder(x: _Number, y: _Number) -> _Float:
    """x minus y times the whole number nearest to x / y."""

def nearbyint(x: _Number) -> _Float:
    """Nearest whole number; halves go to the even one."""

def fma(x: _Number, y: _Number, z: _Number) -> _Float:
    """x * y + z, rounded once."""

def powi(x: _Number, y: _Number) -> _Float:
    """x to the power of the integer y."""

def ldexp(x: _Number, y: _Number) -> _Float:
    """x times 2 to the power of y."""

def scalbn(x: _Number, y: _Number) -> _Float:
    """x times 2 to the power of y."""

def ilogb(x: _Number) -> _Int:
    """Exponent of x as an integer."""

def isnand(x: _Number) -> _Int:
    """1 if x is NaN, else 0."""

def isinfd(x: _Number) -> _Int:
    """1 if x is infinite, else 0."""

def signbitd(x: _Number) -> _Int:
    """1 if the sign is negative, else 0."""

def isfinited(x: _Number) -> _Int:
    """1 if x is neither infinite nor NaN, else 0."""

def dadd_rn(x: _Number, y: _Number) -> _Float:
    """Sum, rounded to nearest."""

def dsub_rn(x: _Number, y: _Number) -> _Float:
    """Difference, rounded to nearest."""

def dmul_rn(x: _Number, y: _Number) -> _Float:
    """Product, rounded to nearest."""

def ddiv_rn(x: _Number, y: _Number) -> _Float:
    """Quotient, rounded to nearest."""

def dsqrt_rn(x: _Number) -> _Float:
    """Square root."""

def fma_rn(x: _Number, y: _Number, z: _Number) -> _Float:
    """x * y + z, rounded once."""

def acosf(x: _Number) -> _Float:
    """Arc cosine, in radians."""

def acoshf(x: _Number) -> _Float:
    """Inverse hyperbolic cosine."""

def asinf(x: _Number) -> _Float:
    """Arc sine, in radians."""

def asinhf(x: _Number) -> _Float:
    """Inverse hyperbolic sine."""

def atanf(x: _Number) -> _Float:
    """Arc tangent, in radians."""

def atanhf(x: _Number) -> _Float:
    """Inverse hyperbolic tangent."""

def cbrtf(x: _Number) -> _Float:
    """Cube root."""

def ceilf(x: _Number) -> _Float:
    """Smallest whole number that is not below x."""

def cosf(x: _Number) -> _Float:
    """Cosine of an angle in radians."""

def coshf(x: _Number) -> _Float:
    """Hyperbolic cosine."""

def cospif(x: _Number) -> _Float:
    """Cosine of x times pi."""

def erff(x: _Number) -> _Float:
    """Error function."""

def erfcf(x: _Number) -> _Float:
    """Complementary error function."""

def expf(x: _Number) -> _Float:
    """e to the power of x."""

def exp10f(x: _Number) -> _Float:
    """10 to the power of x."""

def exp2f(x: _Number) -> _Float:
    """2 to the power of x."""

def expm1f(x: _Number) -> _Float:
    """e to the power of x, minus 1; exact near 0."""

def fabsf(x: _Number) -> _Float:
    """Absolute value."""

def floorf(x: _Number) -> _Float:
    """Largest whole number that is not above x."""

def lgammaf(x: _Number) -> _Float:
    """Logarithm of the absolute value of the gamma function."""

def logf(x: _Number) -> _Float:
    """Natural logarithm."""

def log10f(x: _Number) -> _Float:
    """Logarithm to base 10."""

def log1pf(x: _Number) -> _Float:
    """Natural logarithm of 1 + x; exact near 0."""

def log2f(x: _Number) -> _Float:
    """Logarithm to base 2."""

def logbf(x: _Number) -> _Float:
    """Exponent of x as a float."""

def rintf(x: _Number) -> _Float:
    """Nearest whole number; halves go to the even one."""

def roundf(x: _Number) -> _Float:
    """Nearest whole number; halves go away from 0."""

def rsqrtf(x: _Number) -> _Float:
    """1 / sqrt(x)."""

def sinf(x: _Number) -> _Float:
    """Sine of an angle in radians."""

def sinhf(x: _Number) -> _Float:
    """Hyperbolic sine."""

def sinpif(x: _Number) -> _Float:
    """Sine of x times pi."""

def sqrtf(x: _Number) -> _Float:
    """Square root."""

def tanf(x: _Number) -> _Float:
    """Tangent of an angle in radians."""

def tanhf(x: _Number) -> _Float:
    """Hyperbolic tangent."""

def tgammaf(x: _Number) -> _Float:
    """Gamma function."""

def truncf(x: _Number) -> _Float:
    """Whole number next to x towards 0."""

def atan2f(x: _Number, y: _Number) -> _Float:
    """Angle of the point (y, x), in radians: the first argument is the ordinate."""

def copysignf(x: _Number, y: _Number) -> _Float:
    """x with the sign of y."""

def fdimf(x: _Number, y: _Number) -> _Float:
    """x - y where that is positive, else 0."""

def fmaxf(x: _Number, y: _Number) -> _Float:
    """The larger number; a NaN counts as missing."""

def fminf(x: _Number, y: _Number) -> _Float:
    """The smaller number; a NaN counts as missing."""

def fmodf(x: _Number, y: _Number) -> _Float:
    """Remainder of x / y with the sign of x."""

def hypotf(x: _Number, y: _Number) -> _Float:
    """sqrt(x*x + y*y), without overflow."""

def nextafterf(x: _Number, y: _Number) -> _Float:
    """The next float after x towards y."""

def powf(x: _Number, y: _Number) -> _Float:
    """x to the power of y."""

def remainderf(x: _Number, y: _Number) -> _Float:
    """x minus y times the whole number nearest to x / y."""

def nearbyintf(x: _Number) -> _Float:
    """Nearest whole number; halves go to the even one."""

def fmaf(x: _Number, y: _Number, z: _Number) -> _Float:
    """x * y + z, rounded once."""

def powif(x: _Number, y: _Number) -> _Float:
    """x to the power of the integer y."""

def ldexpf(x: _Number, y: _Number) -> _Float:
    """x times 2 to the power of y."""

def scalbnf(x: _Number, y: _Number) -> _Float:
    """x times 2 to the power of y."""

def ilogbf(x: _Number) -> _Int:
    """Exponent of x as an integer."""

def isnanf(x: _Number) -> _Int:
    """1 if x is NaN, else 0."""

def isinff(x: _Number) -> _Int:
    """1 if x is infinite, else 0."""

def signbitf(x: _Number) -> _Int:
    """1 if the sign is negative, else 0."""

def finitef(x: _Number) -> _Int:
    """1 if x is neither infinite nor NaN, else 0."""

def fadd_rn(x: _Number, y: _Number) -> _Float:
    """Sum, rounded to nearest."""

def fsub_rn(x: _Number, y: _Number) -> _Float:
    """Difference, rounded to nearest."""

def fmul_rn(x: _Number, y: _Number) -> _Float:
    """Product, rounded to nearest."""

def fdiv_rn(x: _Number, y: _Number) -> _Float:
    """Quotient, rounded to nearest."""

def fsqrt_rn(x: _Number) -> _Float:
    """Square root."""

def fmaf_rn(x: _Number, y: _Number, z: _Number) -> _Float:
    """x * y + z, rounded once."""

def fast_cosf(x: _Number) -> _Float:
    """Cosine of an angle in radians."""

def fast_sinf(x: _Number) -> _Float:
    """Sine of an angle in radians."""

def fast_tanf(x: _Number) -> _Float:
    """Tangent of an angle in radians."""

def fast_expf(x: _Number) -> _Float:
    """e to the power of x."""

def fast_exp10f(x: _Number) -> _Float:
    """10 to the power of x."""

def fast_logf(x: _Number) -> _Float:
    """Natural logarithm."""

def fast_log2f(x: _Number) -> _Float:
    """Logarithm to base 2."""

def fast_log10f(x: _Number) -> _Float:
    """Logarithm to base 10."""

def fast_powf(x: _Number, y: _Number) -> _Float:
    """x to the power of y."""

def fast_fdividef(x: _Number, y: _Number) -> _Float:
    """Quotient, rounded to nearest."""

def abs(x: _Number) -> _Int:
    """Absolute value; the most negative number stays."""

def min(x: _Number, y: _Number) -> _Int:
    """The smaller number."""

def umin(x: _Number, y: _Number) -> _Int:
    """The smaller number."""

def max(x: _Number, y: _Number) -> _Int:
    """The larger number."""

def umax(x: _Number, y: _Number) -> _Int:
    """The larger number."""

def clz(x: _Number) -> _Int:
    """Number of zero bits above the highest set one."""

def popc(x: _Number) -> _Int:
    """Number of bits that are set."""

def ffs(x: _Number) -> _Int:
    """Place of the lowest set bit, from 1; 0 if there is none."""

def brev(x: _Number) -> _Int:
    """The bits in reverse order."""

def llabs(x: _Number) -> _Int:
    """Absolute value; the most negative number stays."""

def llmin(x: _Number, y: _Number) -> _Int:
    """The smaller number."""

def ullmin(x: _Number, y: _Number) -> _Int:
    """The smaller number."""

def llmax(x: _Number, y: _Number) -> _Int:
    """The larger number."""

def ullmax(x: _Number, y: _Number) -> _Int:
    """The larger number."""

def clzll(x: _Number) -> _Int:
    """Number of zero bits above the highest set one."""

def popcll(x: _Number) -> _Int:
    """Number of bits that are set."""

def ffsll(x: _Number) -> _Int:
    """Place of the lowest set bit, from 1; 0 if there is none."""

def brevll(x: _Number) -> _Int:
    """The bits in reverse order."""

def mulhi(x: _Number, y: _Number) -> _Int:
    """Upper half of the product."""

def mul64hi(x: _Number, y: _Number) -> _Int:
    """Upper half of the product."""

def mul24(x: _Number, y: _Number) -> _Int:
    """Product of the low 24 bits."""

def hadd(x: _Number, y: _Number) -> _Int:
    """(x + y) // 2, without overflow."""

def rhadd(x: _Number, y: _Number) -> _Int:
    """(x + y + 1) // 2, without overflow."""

def umulhi(x: _Number, y: _Number) -> _Int:
    """Upper half of the product."""

def umul64hi(x: _Number, y: _Number) -> _Int:
    """Upper half of the product."""

def umul24(x: _Number, y: _Number) -> _Int:
    """Product of the low 24 bits."""

def uhadd(x: _Number, y: _Number) -> _Int:
    """(x + y) // 2, without overflow."""

def urhadd(x: _Number, y: _Number) -> _Int:
    """(x + y + 1) // 2, without overflow."""

def float2int_rn(x: _Number) -> _Int:
    """x as int32, rounded to nearest."""

def int2float_rn(x: _Number) -> _Float:
    """x as float32, rounded to nearest."""

def float2int_rd(x: _Number) -> _Int:
    """x as int32, rounded down."""

def int2float_rd(x: _Number) -> _Float:
    """x as float32, rounded down."""

def float2int_ru(x: _Number) -> _Int:
    """x as int32, rounded up."""

def int2float_ru(x: _Number) -> _Float:
    """x as float32, rounded up."""

def float2int_rz(x: _Number) -> _Int:
    """x as int32, rounded towards 0."""

def int2float_rz(x: _Number) -> _Float:
    """x as float32, rounded towards 0."""

def double2int_rn(x: _Number) -> _Int:
    """x as int32, rounded to nearest."""

def int2double_rn(x: _Number) -> _Float:
    """x as float64, rounded to nearest."""

def double2int_rd(x: _Number) -> _Int:
    """x as int32, rounded down."""

def int2double_rd(x: _Number) -> _Float:
    """x as float64, rounded down."""

def double2int_ru(x: _Number) -> _Int:
    """x as int32, rounded up."""

def int2double_ru(x: _Number) -> _Float:
    """x as float64, rounded up."""

def double2int_rz(x: _Number) -> _Int:
    """x as int32, rounded towards 0."""

def int2double_rz(x: _Number) -> _Float:
    """x as float64, rounded towards 0."""

def float2uint_rn(x: _Number) -> _Int:
    """x as uint32, rounded to nearest."""

def uint2float_rn(x: _Number) -> _Float:
    """x as float32, rounded to nearest."""

def float2uint_rd(x: _Number) -> _Int:
    """x as uint32, rounded down."""

def uint2float_rd(x: _Number) -> _Float:
    """x as float32, rounded down."""

def float2uint_ru(x: _Number) -> _Int:
    """x as uint32, rounded up."""

def uint2float_ru(x: _Number) -> _Float:
    """x as float32, rounded up."""

def float2uint_rz(x: _Number) -> _Int:
    """x as uint32, rounded towards 0."""

def uint2float_rz(x: _Number) -> _Float:
    """x as float32, rounded towards 0."""

def double2uint_rn(x: _Number) -> _Int:
    """x as uint32, rounded to nearest."""

def uint2double_rn(x: _Number) -> _Float:
    """x as float64, rounded to nearest."""

def double2uint_rd(x: _Number) -> _Int:
    """x as uint32, rounded down."""

def uint2double_rd(x: _Number) -> _Float:
    """x as float64, rounded down."""

def double2uint_ru(x: _Number) -> _Int:
    """x as uint32, rounded up."""

def uint2double_ru(x: _Number) -> _Float:
    """x as float64, rounded up."""

def double2uint_rz(x: _Number) -> _Int:
    """x as uint32, rounded towards 0."""

def uint2double_rz(x: _Number) -> _Float:
    """x as float64, rounded towards 0."""

def float2ll_rn(x: _Number) -> _Int:
    """x as int64, rounded to nearest."""

def ll2float_rn(x: _Number) -> _Float:
    """x as float32, rounded to nearest."""

def float2ll_rd(x: _Number) -> _Int:
    """x as int64, rounded down."""

def ll2float_rd(x: _Number) -> _Float:
    """x as float32, rounded down."""

def float2ll_ru(x: _Number) -> _Int:
    """x as int64, rounded up."""

def ll2float_ru(x: _Number) -> _Float:
    """x as float32, rounded up."""

def float2ll_rz(x: _Number) -> _Int:
    """x as int64, rounded towards 0."""

def ll2float_rz(x: _Number) -> _Float:
    """x as float32, rounded towards 0."""

def double2ll_rn(x: _Number) -> _Int:
    """x as int64, rounded to nearest."""

def ll2double_rn(x: _Number) -> _Float:
    """x as float64, rounded to nearest."""

def double2ll_rd(x: _Number) -> _Int:
    """x as int64, rounded down."""

def ll2double_rd(x: _Number) -> _Float:
    """x as float64, rounded down."""

def double2ll_ru(x: _Number) -> _Int:
    """x as int64, rounded up."""

def ll2double_ru(x: _Number) -> _Float:
    """x as float64, rounded up."""

def double2ll_rz(x: _Number) -> _Int:
    """x as int64, rounded towards 0."""

def ll2double_rz(x: _Number) -> _Float:
    """x as float64, rounded towards 0."""

def float2ull_rn(x: _Number) -> _Int:
    """x as uint64, rounded to nearest."""

def ull2float_rn(x: _Number) -> _Float:
    """x as float32, rounded to nearest."""

def float2ull_rd(x: _Number) -> _Int:
    """x as uint64, rounded down."""

def ull2float_rd(x: _Number) -> _Float:
    """x as float32, rounded down."""

def float2ull_ru(x: _Number) -> _Int:
    """x as uint64, rounded up."""

def ull2float_ru(x: _Number) -> _Float:
    """x as float32, rounded up."""

def float2ull_rz(x: _Number) -> _Int:
    """x as uint64, rounded towards 0."""

def ull2float_rz(x: _Number) -> _Float:
    """x as float32, rounded towards 0."""

def double2ull_rn(x: _Number) -> _Int:
    """x as uint64, rounded to nearest."""

def ull2double_rn(x: _Number) -> _Float:
    """x as float64, rounded to nearest."""

def double2ull_rd(x: _Number) -> _Int:
    """x as uint64, rounded down."""

def ull2double_rd(x: _Number) -> _Float:
    """x as float64, rounded down."""

def double2ull_ru(x: _Number) -> _Int:
    """x as uint64, rounded up."""

def ull2double_ru(x: _Number) -> _Float:
    """x as float64, rounded up."""

def double2ull_rz(x: _Number) -> _Int:
    """x as uint64, rounded towards 0."""

def ull2double_rz(x: _Number) -> _Float:
    """x as float64, rounded towards 0."""

def double2float_rn(x: _Number) -> _Float:
    """x as float32, rounded to nearest."""

def double2float_rd(x: _Number) -> _Float:
    """x as float32, rounded down."""

def double2float_ru(x: _Number) -> _Float:
    """x as float32, rounded up."""

def double2float_rz(x: _Number) -> _Float:
    """x as float32, rounded towards 0."""

def float_as_int(x: _Number) -> _Int:
    """The bits of x as int32."""

def float_as_uint(x: _Number) -> _Int:
    """The bits of x as uint32."""

def int_as_float(x: _Number) -> _Float:
    """The bits of x as float32."""

def uint_as_float(x: _Number) -> _Float:
    """The bits of x as float32."""

def double_as_longlong(x: _Number) -> _Int:
    """The bits of x as int64."""

def longlong_as_double(x: _Number) -> _Float:
    """The bits of x as float64."""

def sincos(x: _Number) -> tuple[_Float, _Float]:
    """Sine and cosine of an angle in radians."""

def sincosf(x: _Number) -> tuple[_Float, _Float]:
    """Sine and cosine of an angle in radians."""

def sincospi(x: _Number) -> tuple[_Float, _Float]:
    """Sine and cosine of x times pi."""

def sincospif(x: _Number) -> tuple[_Float, _Float]:
    """Sine and cosine of x times pi."""

def modf(x: _Number) -> tuple[_Float, _Float]:
    """Fraction and whole part, both with the sign of x."""

def modff(x: _Number) -> tuple[_Float, _Float]:
    """Fraction and whole part, both with the sign of x."""

def fast_sincosf(x: _Number) -> tuple[_Float, _Float]:
    """Sine and cosine of an angle in radians."""

def sad(x: _Number, y: _Number, z: _Number) -> _Int:
    """The distance of two integers, plus a third."""

def usad(x: _Number, y: _Number, z: _Number) -> _Int:
    """The distance of two integers, plus a third."""

def byte_perm(x: _Number, y: _Number, z: _Number) -> _Int:
    """Four of the eight bytes of two integers, by four three-bit numbers in a third."""

def saturatef(x: _Number) -> _Float:
    """The number clamped to [0, 1]; nan is 0."""

def frsqrt_rn(x: _Number) -> _Float:
    """One over the square root, rounded once: the rounded one corrected by its exact residue."""

def rcbrt(x: _Number) -> _Float:
    """One over the cube root."""

def normcdf(x: _Number) -> _Float:
    """Probability that a normal number is at most x."""

def normcdfinv(x: _Number) -> _Float:
    """The inverse of `normcdf`."""

def erfinv(x: _Number) -> _Float:
    """The number whose `erf` is x."""

def erfcinv(x: _Number) -> _Float:
    """The number whose `erfc` is y: a closed form, then steps of Newton's method on the logarithm, or of Halley's."""

def erfcx(x: _Number) -> _Float:
    """``exp(x * x) * erfc(x)``, also where the factors overflow and vanish."""

def drcp_rn(x: _Number) -> _Float:
    """One over the number."""

def remquo(x: _Number, y: _Number) -> tuple[_Float, _Int]:
    """The IEEE remainder, and the lowest three bits of the rounded quotient with its sign."""

def j0(x: _Number) -> _Float:
    """Bessel function of the first kind, of order 0."""

def j1(x: _Number) -> _Float:
    """Bessel function of the first kind, of order 1."""

def y0(x: _Number) -> _Float:
    """Bessel function of the second kind, of order 0."""

def y1(x: _Number) -> _Float:
    """Bessel function of the second kind, of order 1."""

def jn(x: _Number, y: _Number) -> _Float:
    """Bessel function of the first kind, of order n; nan for a negative n."""

def yn(x: _Number, y: _Number) -> _Float:
    """Bessel function of the second kind, of order n; nan for a negative n."""

def rcbrtf(x: _Number) -> _Float:
    """One over the cube root."""

def normcdff(x: _Number) -> _Float:
    """Probability that a normal number is at most x."""

def normcdfinvf(x: _Number) -> _Float:
    """The inverse of `normcdf`."""

def erfinvf(x: _Number) -> _Float:
    """The number whose `erf` is x."""

def erfcinvf(x: _Number) -> _Float:
    """The number whose `erfc` is y: a closed form, then steps of Newton's method on the logarithm, or of Halley's."""

def erfcxf(x: _Number) -> _Float:
    """``exp(x * x) * erfc(x)``, also where the factors overflow and vanish."""

def frcp_rn(x: _Number) -> _Float:
    """One over the number."""

def remquof(x: _Number, y: _Number) -> tuple[_Float, _Int]:
    """The IEEE remainder, and the lowest three bits of the rounded quotient with its sign."""

def j0f(x: _Number) -> _Float:
    """Bessel function of the first kind, of order 0."""

def j1f(x: _Number) -> _Float:
    """Bessel function of the first kind, of order 1."""

def y0f(x: _Number) -> _Float:
    """Bessel function of the second kind, of order 0."""

def y1f(x: _Number) -> _Float:
    """Bessel function of the second kind, of order 1."""

def jnf(x: _Number, y: _Number) -> _Float:
    """Bessel function of the first kind, of order n; nan for a negative n."""

def ynf(x: _Number, y: _Number) -> _Float:
    """Bessel function of the second kind, of order n; nan for a negative n."""

def dadd_rd(x: _Number, y: _Number) -> _Float:
    """The sum, rounded down."""

def dmul_rd(x: _Number, y: _Number) -> _Float:
    """The product, rounded down."""

def ddiv_rd(x: _Number, y: _Number) -> _Float:
    """The quotient, rounded down."""

def drcp_rd(x: _Number) -> _Float:
    """One over the number, rounded down."""

def dsqrt_rd(x: _Number) -> _Float:
    """The square root, rounded down."""

def dsub_rd(x: _Number, y: _Number) -> _Float:
    """The difference, rounded down."""

def fma_rd(x: _Number, y: _Number, z: _Number) -> _Float:
    """``x * y + z``, rounded once, down."""

def dadd_ru(x: _Number, y: _Number) -> _Float:
    """The sum, rounded up."""

def dmul_ru(x: _Number, y: _Number) -> _Float:
    """The product, rounded up."""

def ddiv_ru(x: _Number, y: _Number) -> _Float:
    """The quotient, rounded up."""

def drcp_ru(x: _Number) -> _Float:
    """One over the number, rounded up."""

def dsqrt_ru(x: _Number) -> _Float:
    """The square root, rounded up."""

def dsub_ru(x: _Number, y: _Number) -> _Float:
    """The difference, rounded up."""

def fma_ru(x: _Number, y: _Number, z: _Number) -> _Float:
    """``x * y + z``, rounded once, up."""

def dadd_rz(x: _Number, y: _Number) -> _Float:
    """The sum, rounded towards 0."""

def dmul_rz(x: _Number, y: _Number) -> _Float:
    """The product, rounded towards 0."""

def ddiv_rz(x: _Number, y: _Number) -> _Float:
    """The quotient, rounded towards 0."""

def drcp_rz(x: _Number) -> _Float:
    """One over the number, rounded towards 0."""

def dsqrt_rz(x: _Number) -> _Float:
    """The square root, rounded towards 0."""

def dsub_rz(x: _Number, y: _Number) -> _Float:
    """The difference, rounded towards 0."""

def fma_rz(x: _Number, y: _Number, z: _Number) -> _Float:
    """``x * y + z``, rounded once, towards 0."""

def fadd_rd(x: _Number, y: _Number) -> _Float:
    """The sum, rounded down."""

def fmul_rd(x: _Number, y: _Number) -> _Float:
    """The product, rounded down."""

def fdiv_rd(x: _Number, y: _Number) -> _Float:
    """The quotient, rounded down."""

def frcp_rd(x: _Number) -> _Float:
    """One over the number, rounded down."""

def fsqrt_rd(x: _Number) -> _Float:
    """The square root, rounded down."""

def fsub_rd(x: _Number, y: _Number) -> _Float:
    """The difference, rounded down."""

def fmaf_rd(x: _Number, y: _Number, z: _Number) -> _Float:
    """``x * y + z``, rounded once, down."""

def fadd_ru(x: _Number, y: _Number) -> _Float:
    """The sum, rounded up."""

def fmul_ru(x: _Number, y: _Number) -> _Float:
    """The product, rounded up."""

def fdiv_ru(x: _Number, y: _Number) -> _Float:
    """The quotient, rounded up."""

def frcp_ru(x: _Number) -> _Float:
    """One over the number, rounded up."""

def fsqrt_ru(x: _Number) -> _Float:
    """The square root, rounded up."""

def fsub_ru(x: _Number, y: _Number) -> _Float:
    """The difference, rounded up."""

def fmaf_ru(x: _Number, y: _Number, z: _Number) -> _Float:
    """``x * y + z``, rounded once, up."""

def fadd_rz(x: _Number, y: _Number) -> _Float:
    """The sum, rounded towards 0."""

def fmul_rz(x: _Number, y: _Number) -> _Float:
    """The product, rounded towards 0."""

def fdiv_rz(x: _Number, y: _Number) -> _Float:
    """The quotient, rounded towards 0."""

def frcp_rz(x: _Number) -> _Float:
    """One over the number, rounded towards 0."""

def fsqrt_rz(x: _Number) -> _Float:
    """The square root, rounded towards 0."""

def fsub_rz(x: _Number, y: _Number) -> _Float:
    """The difference, rounded towards 0."""

def fmaf_rz(x: _Number, y: _Number, z: _Number) -> _Float:
    """``x * y + z``, rounded once, towards 0."""

def double2hiint(x: _Number) -> _Int:
    """The upper 32 bits of a float64."""

def double2loint(x: _Number) -> _Int:
    """The lower 32 bits of a float64."""

def hiloint2double(x: _Number, y: _Number) -> _Float:
    """The float64 with the upper bits x and the lower bits y."""

def half2float(x: _Number) -> _Float:
    """The float16 with the bits h, on devices without float16, too."""

def float2half_rn(x: _Number) -> _Int:
    """The bits of the nearest float16, halves to the even one; 0x7FFF for nan."""

def frexp(x: _Number) -> tuple[_Float, _Int]:
    """The fraction, from 0.5 below 1, and the power of two."""

def frexpf(x: _Number) -> tuple[_Float, _Int]:
    """The fraction, from 0.5 below 1, and the power of two."""

def llrint(x: _Number) -> _Int:
    """The nearest whole number, halves to the even one."""

def llrintf(x: _Number) -> _Int:
    """The nearest whole number, halves to the even one."""

def llround(x: _Number) -> _Int:
    """The nearest whole number, halves away from zero."""

def llroundf(x: _Number) -> _Int:
    """The nearest whole number, halves away from zero."""

__all__ = [
    "abs",
    "acos",
    "acosf",
    "acosh",
    "acoshf",
    "asin",
    "asinf",
    "asinh",
    "asinhf",
    "atan",
    "atan2",
    "atan2f",
    "atanf",
    "atanh",
    "atanhf",
    "brev",
    "brevll",
    "byte_perm",
    "cbrt",
    "cbrtf",
    "ceil",
    "ceilf",
    "clz",
    "clzll",
    "copysign",
    "copysignf",
    "cos",
    "cosf",
    "cosh",
    "coshf",
    "cospi",
    "cospif",
    "dadd_rd",
    "dadd_rn",
    "dadd_ru",
    "dadd_rz",
    "ddiv_rd",
    "ddiv_rn",
    "ddiv_ru",
    "ddiv_rz",
    "dmul_rd",
    "dmul_rn",
    "dmul_ru",
    "dmul_rz",
    "double2float_rd",
    "double2float_rn",
    "double2float_ru",
    "double2float_rz",
    "double2hiint",
    "double2int_rd",
    "double2int_rn",
    "double2int_ru",
    "double2int_rz",
    "double2ll_rd",
    "double2ll_rn",
    "double2ll_ru",
    "double2ll_rz",
    "double2loint",
    "double2uint_rd",
    "double2uint_rn",
    "double2uint_ru",
    "double2uint_rz",
    "double2ull_rd",
    "double2ull_rn",
    "double2ull_ru",
    "double2ull_rz",
    "double_as_longlong",
    "drcp_rd",
    "drcp_rn",
    "drcp_ru",
    "drcp_rz",
    "dsqrt_rd",
    "dsqrt_rn",
    "dsqrt_ru",
    "dsqrt_rz",
    "dsub_rd",
    "dsub_rn",
    "dsub_ru",
    "dsub_rz",
    "erf",
    "erfc",
    "erfcf",
    "erfcinv",
    "erfcinvf",
    "erfcx",
    "erfcxf",
    "erff",
    "erfinv",
    "erfinvf",
    "exp",
    "exp2",
    "exp2f",
    "exp10",
    "exp10f",
    "expf",
    "expm1",
    "expm1f",
    "fabs",
    "fabsf",
    "fadd_rd",
    "fadd_rn",
    "fadd_ru",
    "fadd_rz",
    "fast_cosf",
    "fast_exp10f",
    "fast_expf",
    "fast_fdividef",
    "fast_log2f",
    "fast_log10f",
    "fast_logf",
    "fast_powf",
    "fast_sincosf",
    "fast_sinf",
    "fast_tanf",
    "fdim",
    "fdimf",
    "fdiv_rd",
    "fdiv_rn",
    "fdiv_ru",
    "fdiv_rz",
    "ffs",
    "ffsll",
    "finitef",
    "float2half_rn",
    "float2int_rd",
    "float2int_rn",
    "float2int_ru",
    "float2int_rz",
    "float2ll_rd",
    "float2ll_rn",
    "float2ll_ru",
    "float2ll_rz",
    "float2uint_rd",
    "float2uint_rn",
    "float2uint_ru",
    "float2uint_rz",
    "float2ull_rd",
    "float2ull_rn",
    "float2ull_ru",
    "float2ull_rz",
    "float_as_int",
    "float_as_uint",
    "floor",
    "floorf",
    "fma",
    "fma_rd",
    "fma_rn",
    "fma_ru",
    "fma_rz",
    "fmaf",
    "fmaf_rd",
    "fmaf_rn",
    "fmaf_ru",
    "fmaf_rz",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "fmodf",
    "fmul_rd",
    "fmul_rn",
    "fmul_ru",
    "fmul_rz",
    "frcp_rd",
    "frcp_rn",
    "frcp_ru",
    "frcp_rz",
    "frexp",
    "frexpf",
    "frsqrt_rn",
    "fsqrt_rd",
    "fsqrt_rn",
    "fsqrt_ru",
    "fsqrt_rz",
    "fsub_rd",
    "fsub_rn",
    "fsub_ru",
    "fsub_rz",
    "hadd",
    "half2float",
    "hiloint2double",
    "hypot",
    "hypotf",
    "ilogb",
    "ilogbf",
    "int2double_rd",
    "int2double_rn",
    "int2double_ru",
    "int2double_rz",
    "int2float_rd",
    "int2float_rn",
    "int2float_ru",
    "int2float_rz",
    "int_as_float",
    "isfinited",
    "isinfd",
    "isinff",
    "isnand",
    "isnanf",
    "j0",
    "j0f",
    "j1",
    "j1f",
    "jn",
    "jnf",
    "ldexp",
    "ldexpf",
    "lgamma",
    "lgammaf",
    "ll2double_rd",
    "ll2double_rn",
    "ll2double_ru",
    "ll2double_rz",
    "ll2float_rd",
    "ll2float_rn",
    "ll2float_ru",
    "ll2float_rz",
    "llabs",
    "llmax",
    "llmin",
    "llrint",
    "llrintf",
    "llround",
    "llroundf",
    "log",
    "log1p",
    "log1pf",
    "log2",
    "log2f",
    "log10",
    "log10f",
    "logb",
    "logbf",
    "logf",
    "longlong_as_double",
    "max",
    "min",
    "modf",
    "modff",
    "mul24",
    "mul64hi",
    "mulhi",
    "nearbyint",
    "nearbyintf",
    "nextafter",
    "nextafterf",
    "normcdf",
    "normcdff",
    "normcdfinv",
    "normcdfinvf",
    "popc",
    "popcll",
    "pow",
    "powf",
    "powi",
    "powif",
    "rcbrt",
    "rcbrtf",
    "remainder",
    "remainderf",
    "remquo",
    "remquof",
    "rhadd",
    "rint",
    "rintf",
    "round",
    "roundf",
    "rsqrt",
    "rsqrtf",
    "sad",
    "saturatef",
    "scalbn",
    "scalbnf",
    "signbitd",
    "signbitf",
    "sin",
    "sincos",
    "sincosf",
    "sincospi",
    "sincospif",
    "sinf",
    "sinh",
    "sinhf",
    "sinpi",
    "sinpif",
    "sqrt",
    "sqrtf",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "tgamma",
    "tgammaf",
    "trunc",
    "truncf",
    "uhadd",
    "uint2double_rd",
    "uint2double_rn",
    "uint2double_ru",
    "uint2double_rz",
    "uint2float_rd",
    "uint2float_rn",
    "uint2float_ru",
    "uint2float_rz",
    "uint_as_float",
    "ull2double_rd",
    "ull2double_rn",
    "ull2double_ru",
    "ull2double_rz",
    "ull2float_rd",
    "ull2float_rn",
    "ull2float_ru",
    "ull2float_rz",
    "ullmax",
    "ullmin",
    "umax",
    "umin",
    "umul24",
    "umul64hi",
    "umulhi",
    "urhadd",
    "usad",
    "y0",
    "y0f",
    "y1",
    "y1f",
    "yn",
    "ynf",
]
