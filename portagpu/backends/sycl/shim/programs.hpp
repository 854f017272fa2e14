// Programs and kernels. On devices that OpenCL drives, SYCL's compiler makes SPIR-V, and the driver's compiler, with
// options of our own, machine code, which caches keep; kernels are then OpenCL's, on SYCL's queues. On others SYCL does all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>

#include "queues.hpp"
#include <sycl/backend.hpp>
#include <sycl/kernel_bundle.hpp>
#include <sycl/vector.hpp>

namespace portagpu {

namespace ex = sycl::ext::oneapi::experimental;

// A function of the OpenCL loader that SYCL's adapter has loaded.
template <class Function> Function *opencl(const char *name) {
  static void *library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
  auto found = library ? dlsym(library, name) : nullptr;
  if (!found)
    throw std::runtime_error(std::string("the OpenCL loader has no ") + name);
  return reinterpret_cast<Function *>(found);
}
#define PG_OPENCL(function) portagpu::opencl<decltype(function)>(#function)

struct Program {
  sycl::context context;
  sycl::device device;
  cl_program native = nullptr;                                                // on devices that OpenCL drives
  std::vector<sycl::kernel_bundle<sycl::bundle_state::executable>> bundle{}; // on others: one
  ~Program() {
    if (native)
      PG_OPENCL(clReleaseProgram)(native);
  }
};

inline void checked(cl_int status, const char *what) {
  if (status != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed with OpenCL's error " + std::to_string(status));
}

inline std::string build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  auto ask = PG_OPENCL(clGetProgramBuildInfo);
  if (ask(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS)
    return "";
  std::string text(size, '\0');
  ask(program, device, CL_PROGRAM_BUILD_LOG, size, text.data(), nullptr);
  return text.c_str();
}

// Have the driver build a program; `log` is what its compiler says.
inline Program *built(const sycl::context &context, const sycl::device &device, cl_program native,
                      const char *options, std::string &log) {
  auto *program = new Program{context, device, native};
  auto id = sycl::get_native<sycl::backend::opencl>(device);
  auto status = PG_OPENCL(clBuildProgram)(native, 1, &id, options, nullptr, nullptr);
  log += build_log(native, id);
  PG_OPENCL(clReleaseDevice)(id);
  if (status != CL_SUCCESS) {
    delete program;
    checked(status, "the driver's compiler");
  }
  return counted(program_kind, program);
}

inline std::vector<std::string> lines_of(const char *text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one);)
    found.push_back(one);
  return found;
}

// What a device image holds. SYCL shows it of executable ones alone, which the driver's compiler would have made, too.
struct Image : sycl::detail::device_image_plain {
  static auto content(const sycl::detail::device_image_plain &image) {
    return (image.*(&Image::ext_oneapi_get_backend_content_view_impl))();
  }
};

// SPIR-V whose kernels say that they are vectorised by hand (VecTypeHint, float4): compilers for CPUs then leave
// threads out of the lanes of vectors. SYCL's own attribute for that is ignored.
inline std::vector<uint32_t> by_hand(const std::byte *begin, const std::byte *end) {
  constexpr uint32_t header = 5, entry_point = 15, execution_mode = 16, vec_type_hint = 30, float4 = 4 << 16 | 5;
  std::vector<uint32_t> words((end - begin) / sizeof(uint32_t));
  std::memcpy(words.data(), begin, words.size() * sizeof(uint32_t));
  std::vector<uint32_t> modes;
  size_t place = header, after = 0;
  for (; place < words.size() && words[place] >> 16; place += words[place] >> 16) {
    if ((words[place] & 0xffff) != entry_point)
      continue;
    modes.insert(modes.end(), {4 << 16 | execution_mode, words[place + 2], vec_type_hint, float4});
    after = place + (words[place] >> 16);
  }
  words.insert(words.begin() + after, modes.begin(), modes.end());
  return words;
}

inline Program *compiled(const sycl::context &context, const sycl::device &device, const char *source,
                         const char *options, const char *driver_options, std::string &log) {
  std::vector<sycl::device> devices{device};
  auto text = ex::create_kernel_bundle_from_source(context, ex::source_language::sycl, std::string(source));
  auto all_options = lines_of(options);
  all_options.push_back("-fsycl-device-code-split=off"); // one program for all kernels
  ex::properties properties{ex::build_options{all_options}, ex::save_log{&log}};
  if (device.get_backend() != sycl::backend::opencl) {
    auto *program = new Program{context, device};
    program->bundle.push_back(ex::build(text, devices, properties));
    return counted(program_kind, program);
  }
  auto objects = ex::compile(text, devices, properties);
  if (objects.end() - objects.begin() > 1)
    throw std::runtime_error("the compiler made several images of the program");
  for (const auto &image : objects) {
    auto [begin, end] = Image::content(image);
    auto place = sycl::get_native<sycl::backend::opencl>(context);
    cl_int status = CL_SUCCESS;
    const void *il = begin;
    size_t size = end - begin;
    std::vector<uint32_t> hinted;
    if (std::strstr(source, "// NOT_VECTORISED")) {
      hinted = by_hand(begin, end);
      il = hinted.data(), size = hinted.size() * sizeof(uint32_t);
    }
    auto native = PG_OPENCL(clCreateProgramWithIL)(place, il, size, &status);
    PG_OPENCL(clReleaseContext)(place);
    checked(status, "the driver, given SPIR-V,");
    return built(context, device, native, driver_options, log);
  }
  throw std::runtime_error("the program has no kernel");
}

enum class Argument : int { pointer, bytes, local };

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
  std::copy(global, global + axes, all);
  std::copy(local, local + axes, group);
  return {{all[2], all[1], all[0]}, {group[2], group[1], group[0]}};
}

} // namespace portagpu

extern "C" {

// A compiled program; `said` is what the compilers say, to be freed by `pg_drop_text`, also where null is returned.
Program *pg_compile(const sycl::context *context, const sycl::device *device, const char *source, const char *options,
                    const char *driver_options, char **said) {
  std::string log;
  auto *program = guarded((Program *)nullptr,
                          [&] { return compiled(*context, *device, source, options, driver_options, log); });
  *said = strdup(log.c_str());
  return program;
}

void pg_drop_text(char *text) { std::free(text); }

Program *pg_load(const sycl::context *context, const sycl::device *device, const unsigned char *binary, size_t size,
                 const char *driver_options) {
  return guarded((Program *)nullptr, [&] {
    auto place = sycl::get_native<sycl::backend::opencl>(*context);
    auto id = sycl::get_native<sycl::backend::opencl>(*device);
    cl_int status = CL_SUCCESS, kept = CL_SUCCESS;
    auto native = PG_OPENCL(clCreateProgramWithBinary)(place, 1, &id, &size, &binary, &kept, &status);
    PG_OPENCL(clReleaseContext)(place);
    PG_OPENCL(clReleaseDevice)(id);
    checked(status, "the driver, given a binary,");
    std::string log;
    return built(*context, *device, native, driver_options, log);
  });
}

// Bytes of the binary, 0 where there is none; it is written where there is room for it.
long pg_binary(const Program *program, unsigned char *binary, size_t room) {
  return guarded(-1L, [&] {
    size_t size = 0;
    if (!program->native)
      return 0L;
    auto ask = PG_OPENCL(clGetProgramInfo);
    checked(ask(program->native, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), "asking for a binary");
    if (binary && room >= size)
      checked(ask(program->native, CL_PROGRAM_BINARIES, sizeof binary, &binary, nullptr), "asking for a binary");
    return long(size);
  });
}

void pg_drop_program(Program *program) { dropped(program_kind, program); }

Kernel *pg_kernel(const Program *program, const char *name) {
  return guarded((Kernel *)nullptr, [&] {
    auto find = [&] {
      if (!program->native)
        return sycl::kernel(const_cast<Program *>(program)->bundle.front().ext_oneapi_get_kernel(name));
      cl_int status = CL_SUCCESS;
      auto native = PG_OPENCL(clCreateKernel)(program->native, (std::string("__sycl_kernel_") + name).c_str(), &status);
      checked(status, "making a kernel");
      auto found = sycl::make_kernel<sycl::backend::opencl>(native, program->context);
      PG_OPENCL(clReleaseKernel)(native); // SYCL has its own reference
      return found;
    };
    return counted(kernel_kind, new Kernel{find(), program->native != nullptr, {}, {}});
  });
}

// Say what arguments a kernel has, pairs of `Argument` and bytes; returns the place where their values are written.
void *pg_layout(Kernel *kernel, const size_t *arguments, long count) {
  return guarded((void *)nullptr, [&] {
    size_t bytes = 0;
    kernel->arguments.clear();
    for (long n = 0; n < count; ++n) {
      kernel->arguments.emplace_back(Argument(arguments[2 * n]), arguments[2 * n + 1]);
      bytes += (arguments[2 * n + 1] + 7) / 8 * 8;
    }
    kernel->values.assign(std::max<size_t>(8, bytes), 0);
    return (void *)kernel->values.data();
  });
}

void pg_drop_kernel(Kernel *kernel) { dropped(kernel_kind, kernel); }

long pg_max_threads(const Kernel *kernel, const sycl::device *device) {
  return guarded(-1L, [&] {
    return long(kernel->kernel.get_info<sycl::info::kernel_device_specific::work_group_size>(*device));
  });
}

long pg_preferred_multiple(const Kernel *kernel, const sycl::device *device) {
  return guarded(-1L, [&] {
    using sycl::info::kernel_device_specific::preferred_work_group_size_multiple;
    return long(kernel->kernel.get_info<preferred_work_group_size_multiple>(*device));
  });
}

long pg_private_bytes(const Kernel *kernel, const sycl::device *device) {
  return guarded(-1L, [&] {
    return long(kernel->kernel.get_info<sycl::info::kernel_device_specific::private_mem_size>(*device));
  });
}

int pg_launch(sycl::queue *queue, const Kernel *kernel, int axes, const size_t *global, const size_t *local) {
  return guarded(refused, [&] {
    auto range = range_of(axes, global, local);
    ex::submit(*queue, [&](sycl::handler &handler) {
      kernel->set(handler);
      handler.parallel_for(range, kernel->kernel);
    });
    return 0;
  });
}

int pg_launch_behind(sycl::queue *queue, const Kernel *kernel, int axes, const size_t *global, const size_t *local,
                     sycl::event *const *ends, long count, sycl::event **out) {
  return guarded(refused, [&] {
    auto range = range_of(axes, global, local);
    return handed(out, queue->submit([&](sycl::handler &handler) {
      handler.depends_on(events_of(ends, count));
      kernel->set(handler);
      handler.parallel_for(range, kernel->kernel);
    }));
  });
}
}
