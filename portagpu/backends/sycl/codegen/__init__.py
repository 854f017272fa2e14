"""From typed programs to SYCL C++: a dialect of `portagpu.backends.c_family`."""
