// Kernels: what they are called with, and launches.
#pragma once

#include "programs.hpp"
#include <sycl/vector.hpp>

namespace portagpu {

enum class Argument : int { pointer, bytes, local };
constexpr size_t most_bytes = 1 << 16; // of one argument

struct Kernel {
  sycl::kernel kernel;
  bool is_opencl;
  std::vector<std::pair<Argument, size_t>> arguments; // and how many bytes each has
  std::vector<unsigned char> values;                  // of all, one behind the other, aligned to eight

  void set(sycl::handler &handler) const {
    const unsigned char *value = values.data();
    int index = 0;
    for (auto [kind, size] : arguments) {
      switch (kind) {
      case Argument::pointer:
        handler.set_arg(index++, *reinterpret_cast<void *const *>(value));
        break;
      case Argument::bytes:
        handler.set_arg(index++, ex::raw_kernel_arg(value, size));
        break;
      case Argument::local:
        index = set_local(handler, index, *reinterpret_cast<const size_t *>(value));
        break;
      }
      value += (size + 7) / 8 * 8;
    }
  }

private:
  // A local accessor is an address, two ranges and an index; of OpenCL's kernels SYCL knows the address alone.
  int set_local(sycl::handler &handler, int index, size_t bytes) const {
    using Unit = sycl::vec<unsigned long, 16>;
    size_t none = 0, count = std::max<size_t>(1, (bytes + sizeof(Unit) - 1) / sizeof(Unit));
    handler.set_arg(index++, sycl::local_accessor<Unit, 1>(count, handler));
    if (is_opencl) {
      handler.set_arg(index++, ex::raw_kernel_arg(&count, sizeof count));
      handler.set_arg(index++, ex::raw_kernel_arg(&count, sizeof count));
      handler.set_arg(index++, ex::raw_kernel_arg(&none, sizeof none));
    }
    return index;
  }
};

// The first axis is the one along which neighbours lie: SYCL's last.
inline sycl::nd_range<3> range_of(int axes, const size_t *global, const size_t *local) {
  size_t all[3] = {1, 1, 1}, group[3] = {1, 1, 1};
  if (axes < 1 || axes > 3)
    throw std::invalid_argument("a launch has one, two or three axes");
  std::copy(&the(global), global + axes, all);
  std::copy(&the(local), local + axes, group);
  if (!group[0] || !group[1] || !group[2])
    throw std::invalid_argument("a block has no threads");
  return {{all[2], all[1], all[0]}, {group[2], group[1], group[0]}};
}

} // namespace portagpu

extern "C" {

Kernel *pg_kernel(Program *program, const char *name) {
  return guarded((Kernel *)nullptr, [&] {
    auto &from = the(program);
    auto find = [&] {
      if (!from.native)
        return sycl::kernel(from.bundle.at(0).ext_oneapi_get_kernel(&the(name)));
      cl_int status = CL_SUCCESS;
      auto full = std::string("__sycl_kernel_") + &the(name);
      auto native = PG_HELD(PG_OPENCL(clCreateKernel)(from.native, full.c_str(), &status), clReleaseKernel);
      checked(status, "making a kernel");
      return sycl::make_kernel<sycl::backend::opencl>(native.object, from.context); // SYCL has its own reference
    };
    return counted(kernel_kind, new Kernel{find(), from.native != nullptr, {}, {}});
  });
}

// Say what arguments a kernel has, pairs of `Argument` and bytes; returns the place where their values are written.
void *pg_layout(Kernel *kernel, const size_t *arguments, long count) {
  return guarded((void *)nullptr, [&] {
    std::vector<std::pair<Argument, size_t>> found;
    size_t bytes = 0;
    for (long n = 0; n < count; ++n) {
      auto kind = (&the(arguments))[2 * n], size = arguments[2 * n + 1];
      if (kind > size_t(Argument::local) || size > most_bytes || (kind != size_t(Argument::bytes) && size != 8))
        throw std::invalid_argument("no kernel has such an argument");
      found.emplace_back(Argument(kind), size);
      bytes += (size + 7) / 8 * 8;
    }
    the(kernel).values.assign(std::max<size_t>(8, bytes), 0);
    kernel->arguments.swap(found);
    return (void *)kernel->values.data();
  });
}

void pg_drop_kernel(Kernel *kernel) { dropped(kernel_kind, kernel); }

long pg_max_threads(const Kernel *kernel, const sycl::device *device) {
  return guarded(-1L, [&] {
    return long(the(kernel).kernel.get_info<sycl::info::kernel_device_specific::work_group_size>(the(device)));
  });
}

long pg_preferred_multiple(const Kernel *kernel, const sycl::device *device) {
  return guarded(-1L, [&] {
    using sycl::info::kernel_device_specific::preferred_work_group_size_multiple;
    return long(the(kernel).kernel.get_info<preferred_work_group_size_multiple>(the(device)));
  });
}

long pg_private_bytes(const Kernel *kernel, const sycl::device *device) {
  return guarded(-1L, [&] {
    return long(the(kernel).kernel.get_info<sycl::info::kernel_device_specific::private_mem_size>(the(device)));
  });
}

int pg_launch(sycl::queue *queue, const Kernel *kernel, int axes, const size_t *global, const size_t *local) {
  return guarded(refused, [&] {
    auto range = range_of(axes, global, local);
    auto &launched = the(kernel);
    ex::submit(the(queue), [&](sycl::handler &handler) {
      launched.set(handler);
      handler.parallel_for(range, launched.kernel);
    });
    return 0;
  });
}

int pg_launch_behind(sycl::queue *queue, const Kernel *kernel, int axes, const size_t *global, const size_t *local,
                     sycl::event *const *ends, long count, sycl::event **out) {
  return guarded(refused, [&] {
    auto range = range_of(axes, global, local);
    auto &launched = the(kernel);
    return handed(out, the(queue).submit([&](sycl::handler &handler) {
      handler.depends_on(events_of(ends, count));
      launched.set(handler);
      handler.parallel_for(range, launched.kernel);
    }));
  });
}
}
