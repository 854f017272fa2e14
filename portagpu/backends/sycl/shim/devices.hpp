// Devices and contexts.
#pragma once

#include <cstring>
#include <sstream>
#include <vector>

#include "common.hpp"
#include <sycl/properties/all_properties.hpp>
#include <sycl/usm.hpp>

namespace portagpu {

namespace info = sycl::info::device;
namespace matrix = sycl::ext::oneapi::experimental::matrix;

template <class Value> void line(std::ostream &out, const char *name, const Value &value) {
  out << name << '\t' << value << '\n';
}

inline const char *name_of(matrix::matrix_type type) {
  using matrix::matrix_type;
  switch (type) {
  case matrix_type::bf16:
    return "bf16";
  case matrix_type::fp16:
    return "fp16";
  case matrix_type::tf32:
    return "tf32";
  case matrix_type::fp32:
    return "fp32";
  case matrix_type::fp64:
    return "fp64";
  case matrix_type::sint8:
    return "sint8";
  case matrix_type::sint32:
    return "sint32";
  case matrix_type::uint8:
    return "uint8";
  default:
    return "other";
  }
}

// Shapes of products of matrix units, with the largest sizes where several do.
inline std::string combinations(const sycl::device &device) {
  std::ostringstream text;
  for (const auto &one : device.get_info<sycl::ext::oneapi::experimental::info::device::matrix_combinations>()) {
    for (auto type : {one.atype, one.btype, one.ctype, one.dtype})
      text << name_of(type) << ':';
    text << (one.max_msize ? one.max_msize : one.msize) << 'x' << (one.max_nsize ? one.max_nsize : one.nsize) << 'x'
         << (one.max_ksize ? one.max_ksize : one.ksize) << ' ';
  }
  return text.str();
}

// A line for each property that the device tells: its name, a tab, and the value or several apart by spaces.
inline std::string described(const sycl::device &device) {
  std::ostringstream out;
  auto tell = [&](const char *name, auto ask) {
    try {
      line(out, name, ask());
    } catch (const std::exception &) { // it does not know
    }
  };
  auto several = [](const auto &values) {
    std::ostringstream text;
    for (const auto &value : values)
      text << size_t(value) << ' ';
    return text.str();
  };
  tell("name", [&] { return device.get_info<info::name>(); });
  tell("vendor", [&] { return device.get_info<info::vendor>(); });
  tell("platform", [&] { return device.get_platform().get_info<sycl::info::platform::name>(); });
  tell("driver_version", [&] { return device.get_info<info::driver_version>(); });
  tell("version", [&] { return device.get_info<info::version>(); });
  tell("interface", [&] { return int(device.get_backend()); });
  tell("is_opencl", [&] { return int(device.get_backend() == sycl::backend::opencl); });
  tell("type", [&] { return device.is_gpu() ? "gpu" : device.is_cpu() ? "cpu" : "accelerator"; });
  tell("compiles_sycl", [&] {
    return int(sycl::device(device).ext_oneapi_can_compile(sycl::ext::oneapi::experimental::source_language::sycl));
  });
  tell("compute_units", [&] { return device.get_info<info::max_compute_units>(); });
  tell("clock_mhz", [&] { return device.get_info<info::max_clock_frequency>(); });
  tell("address_bits", [&] { return device.get_info<info::address_bits>(); });
  tell("global_memory", [&] { return device.get_info<info::global_mem_size>(); });
  tell("max_allocation", [&] { return device.get_info<info::max_mem_alloc_size>(); });
  tell("local_memory", [&] { return device.get_info<info::local_mem_size>(); });
  tell("local_dedicated", [&] {
    return int(device.get_info<info::local_mem_type>() == sycl::info::local_mem_type::local);
  });
  tell("global_cache", [&] { return device.get_info<info::global_mem_cache_size>(); });
  tell("mem_base_alignment", [&] { return device.get_info<info::mem_base_addr_align>() / 8; });
  tell("max_work_group_size", [&] { return device.get_info<info::max_work_group_size>(); });
  tell("max_work_item_sizes", [&] {
    auto sizes = device.get_info<info::max_work_item_sizes<3>>();
    return std::to_string(sizes[2]) + ' ' + std::to_string(sizes[1]) + ' ' + std::to_string(sizes[0]);
  });
  tell("subgroup_sizes", [&] { return several(device.get_info<info::sub_group_sizes>()); });
  tell("matrix_combinations", [&] { return combinations(device); });
  tell("vector_width_float", [&] { return device.get_info<info::native_vector_width_float>(); });
  tell("vector_width_double", [&] { return device.get_info<info::native_vector_width_double>(); });
  tell("fp16", [&] { return int(device.has(sycl::aspect::fp16)); });
  tell("fp64", [&] { return int(device.has(sycl::aspect::fp64)); });
  tell("atomic64", [&] { return int(device.has(sycl::aspect::atomic64)); });
  tell("usm_device", [&] { return int(device.has(sycl::aspect::usm_device_allocations)); });
  tell("usm_host", [&] { return int(device.has(sycl::aspect::usm_host_allocations)); });
  tell("usm_system", [&] { return int(device.has(sycl::aspect::usm_system_allocations)); });
  tell("queue_profiling", [&] { return int(device.has(sycl::aspect::queue_profiling)); });
  tell("corrects_errors", [&] { return int(device.get_info<info::error_correction_support>()); });
  return out.str();
}

// Those of a platform whose driver fails are left out, unless there are no others.
inline std::vector<sycl::device> all_devices() {
  std::vector<sycl::device> found;
  std::exception_ptr failure;
  for (const auto &platform : sycl::platform::get_platforms())
    try {
      for (const auto &device : platform.get_devices())
        found.push_back(device);
    } catch (const std::exception &) {
      failure = std::current_exception();
    }
  if (found.empty() && failure)
    std::rethrow_exception(failure);
  return found;
}

} // namespace portagpu

using namespace portagpu;

extern "C" {

// All devices of all platforms, each to be dropped by the caller; the number of them, which may exceed `most`.
long pg_devices(sycl::device **found, long most) {
  return guarded(-1L, [&] {
    auto devices = all_devices();
    for (long n = 0; n < most && n < long(devices.size()); ++n)
      (&the(found))[n] = nullptr;
    for (long n = 0; n < most && n < long(devices.size()); ++n)
      found[n] = counted(device_kind, new sycl::device(devices[n]));
    return long(devices.size());
  });
}

// The description's length; as much of it as there is room for is written, with a zero at its end.
long pg_describe(const sycl::device *device, char *text, long room) {
  return guarded(-1L, [&] {
    auto found = described(the(device));
    if (text && room > 0) {
      std::strncpy(text, found.c_str(), room - 1);
      text[room - 1] = 0;
    }
    return long(found.size());
  });
}

// The platform's default context, which other libraries use, too.
sycl::context *pg_default_context(const sycl::device *device) {
  return guarded((sycl::context *)nullptr, [&] {
    return counted(context_kind, new sycl::context(the(device).get_platform().khr_get_default_context()));
  });
}

sycl::context *pg_context_of(const sycl::queue *queue) {
  return guarded((sycl::context *)nullptr,
                 [&] { return counted(context_kind, new sycl::context(the(queue).get_context())); });
}

sycl::device *pg_device_of(const sycl::queue *queue) {
  return guarded((sycl::device *)nullptr, [&] { return counted(device_kind, new sycl::device(the(queue).get_device())); });
}

// The first of a context's devices.
sycl::device *pg_device_of_context(const sycl::context *context) {
  return guarded((sycl::device *)nullptr,
                 [&] { return counted(device_kind, new sycl::device(the(context).get_devices().at(0))); });
}

sycl::context *pg_copy_context(const sycl::context *context) {
  return guarded((sycl::context *)nullptr, [&] { return counted(context_kind, new sycl::context(the(context))); });
}

sycl::device *pg_copy_device(const sycl::device *device) {
  return guarded((sycl::device *)nullptr, [&] { return counted(device_kind, new sycl::device(the(device))); });
}

// Numbers that are equal for copies of one object, also with other users of the library; 0 where there is none.
size_t pg_hash_device(const sycl::device *device) {
  return guarded(size_t(0), [&] { return std::hash<sycl::device>()(the(device)); });
}

size_t pg_hash_context(const sycl::context *context) {
  return guarded(size_t(0), [&] { return std::hash<sycl::context>()(the(context)); });
}

size_t pg_hash_queue(const sycl::queue *queue) {
  return guarded(size_t(0), [&] { return std::hash<sycl::queue>()(the(queue)); });
}

void pg_drop_device(sycl::device *device) { dropped(device_kind, device); }
void pg_drop_context(sycl::context *context) { dropped(context_kind, context); }

const char *pg_error_text() { return error_text.c_str(); }
int pg_error_code() { return error_code; }
long pg_living(int kind) { return kind >= 0 && kind < kinds ? long(living[kind]) : -1; }
}
