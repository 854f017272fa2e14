// C functions over the SYCL run time, for Python's ctypes: `portagpu.backends.sycl.library` says what each takes.
//
// Pointers to devices, contexts, queues and events are pointers to SYCL's own objects, as dpctl hands them out.
#include "kernels.hpp"
