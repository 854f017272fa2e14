"""The SYCL run time as it is installed, and what its drivers do that cannot be asked of them."""
