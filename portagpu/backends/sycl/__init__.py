"""The SYCL back end: SYCL source from IR, compiled at run time, and the SYCL run time through a small C++ library."""
