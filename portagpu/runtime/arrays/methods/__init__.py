"""Methods of device arrays, a class for each kind of them; `portagpu.runtime.arrays.array` joins them."""
