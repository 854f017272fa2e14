// Programs. On devices that OpenCL drives, SYCL's compiler makes SPIR-V, and the driver's compiler, with
// options of our own, machine code, which caches keep; kernels are then OpenCL's, on SYCL's queues. On others SYCL does all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <utility>

#include "queues.hpp"
#include <sycl/backend.hpp>
#include <sycl/kernel_bundle.hpp>

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

// An object of OpenCL's that is let go of at the end; `release` is the loader's function for it.
template <class T, class Release> struct Held {
  T object;
  Release *release;
  ~Held() {
    if (object)
      release(object);
  }
  T given() { return std::exchange(object, nullptr); }
};
#define PG_HELD(object, function)                                                                                      \
  portagpu::Held<decltype(object), decltype(function)> { object, PG_OPENCL(function) }

struct Program {
  sycl::context context;
  sycl::device device;
  cl_program native = nullptr;                                                // on devices that OpenCL drives
  std::vector<sycl::kernel_bundle<sycl::bundle_state::executable>> bundle{}; // on others: one
  ~Program() noexcept(false) {
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
  auto program = PG_HELD(native, clReleaseProgram);
  auto id = PG_HELD(sycl::get_native<sycl::backend::opencl>(device), clReleaseDevice);
  auto status = PG_OPENCL(clBuildProgram)(native, 1, &id.object, options ? options : "", nullptr, nullptr);
  log += build_log(native, id.object);
  checked(status, "the driver's compiler");
  return counted(program_kind, new Program{context, device, program.given()});
}

inline std::vector<std::string> lines_of(const char *text) {
  std::vector<std::string> found;
  std::istringstream in(text ? text : "");
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
    if ((words[place] & 0xffff) != entry_point || place + 2 >= words.size())
      continue;
    modes.insert(modes.end(), {4 << 16 | execution_mode, words[place + 2], vec_type_hint, float4});
    after = std::min(words.size(), place + (words[place] >> 16));
  }
  words.insert(words.begin() + after, modes.begin(), modes.end());
  return words;
}

inline Program *compiled(const sycl::context &context, const sycl::device &device, const char *source,
                         const char *options, const char *driver_options, std::string &log) {
  std::vector<sycl::device> devices{device};
  auto text = ex::create_kernel_bundle_from_source(context, ex::source_language::sycl, std::string(&the(source)));
  auto all_options = lines_of(options);
  all_options.push_back("-fsycl-device-code-split=off"); // one program for all kernels
  ex::properties properties{ex::build_options{all_options}, ex::save_log{&log}};
  if (device.get_backend() != sycl::backend::opencl) {
    auto program = std::make_unique<Program>(Program{context, device});
    program->bundle.push_back(ex::build(text, devices, properties));
    return counted(program_kind, program.release());
  }
  auto objects = ex::compile(text, devices, properties);
  if (objects.end() - objects.begin() > 1)
    throw std::runtime_error("the compiler made several images of the program");
  for (const auto &image : objects) {
    auto [begin, end] = Image::content(image);
    auto place = PG_HELD(sycl::get_native<sycl::backend::opencl>(context), clReleaseContext);
    cl_int status = CL_SUCCESS;
    const void *il = begin;
    size_t size = end - begin;
    std::vector<uint32_t> hinted;
    if (std::strstr(source, "// NOT_VECTORISED")) {
      hinted = by_hand(begin, end);
      il = hinted.data(), size = hinted.size() * sizeof(uint32_t);
    }
    auto native = PG_OPENCL(clCreateProgramWithIL)(place.object, il, size, &status);
    checked(status, "the driver, given SPIR-V,");
    return built(context, device, native, driver_options, log);
  }
  throw std::runtime_error("the program has no kernel");
}

} // namespace portagpu

extern "C" {

// A compiled program; `said` is what the compilers say, to be freed by `pg_drop_text`, also where null is returned.
Program *pg_compile(const sycl::context *context, const sycl::device *device, const char *source, const char *options,
                    const char *driver_options, char **said) {
  std::string log;
  auto *program = guarded((Program *)nullptr,
                          [&] { return compiled(the(context), the(device), source, options, driver_options, log); });
  if (said)
    *said = strdup(log.c_str());
  return program;
}

void pg_drop_text(char *text) { std::free(text); }

Program *pg_load(const sycl::context *context, const sycl::device *device, const unsigned char *binary, size_t size,
                 const char *driver_options) {
  return guarded((Program *)nullptr, [&] {
    auto place = PG_HELD(sycl::get_native<sycl::backend::opencl>(the(context)), clReleaseContext);
    auto id = PG_HELD(sycl::get_native<sycl::backend::opencl>(the(device)), clReleaseDevice);
    cl_int status = CL_SUCCESS, kept = CL_SUCCESS;
    auto native =
        PG_OPENCL(clCreateProgramWithBinary)(place.object, 1, &id.object, &size, &binary, &kept, &status);
    checked(status, "the driver, given a binary,");
    std::string log;
    return built(*context, *device, native, driver_options, log);
  });
}

// Bytes of the binary, 0 where there is none; it is written where there is room for it.
long pg_binary(const Program *program, unsigned char *binary, size_t room) {
  return guarded(-1L, [&] {
    size_t size = 0;
    if (!the(program).native)
      return 0L;
    auto ask = PG_OPENCL(clGetProgramInfo);
    checked(ask(program->native, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), "asking for a binary");
    if (binary && room >= size)
      checked(ask(program->native, CL_PROGRAM_BINARIES, sizeof binary, &binary, nullptr), "asking for a binary");
    return long(size);
  });
}

void pg_drop_program(Program *program) { dropped(program_kind, program); }
}
