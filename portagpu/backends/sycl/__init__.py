"""The SYCL back end: SYCL C++ from IR, compiled at run time by the SYCL runtime."""
