"""The SYCL back end: SYCL source from IR, and the SYCL run time through a small C++ library."""
