// Queues, events, memory and copies.
#pragma once

#include <algorithm>
#include <mutex>

#include "devices.hpp"
#include <sycl/ext/oneapi/experimental/enqueue_functions.hpp>

namespace portagpu {

inline std::mutex failures_lock;
inline std::string failures; // what commands of this process's queues reported after they were enqueued

inline void noted(sycl::exception_list list) {
  std::lock_guard<std::mutex> held(failures_lock);
  for (auto &each : list)
    try {
      std::rethrow_exception(each);
    } catch (const std::exception &error) {
      failures += failures.empty() ? error.what() : std::string("; ") + error.what();
    } catch (...) {
      failures += failures.empty() ? "an error without a name" : "; an error without a name";
    }
}

inline std::vector<sycl::event> events_of(sycl::event *const *ends, long count) {
  std::vector<sycl::event> found;
  found.reserve(std::max(0L, count));
  for (long n = 0; n < count; ++n)
    found.push_back(the((&the(ends))[n]));
  return found;
}

// Hands a command's event out where it is asked for.
inline int handed(sycl::event **out, sycl::event &&event) {
  if (out)
    *out = counted(event_kind, new sycl::event(std::move(event)));
  return 0;
}

} // namespace portagpu

extern "C" {

sycl::queue *pg_queue(const sycl::context *context, const sycl::device *device, int profiling) {
  return guarded((sycl::queue *)nullptr, [&] {
    using namespace sycl::property::queue;
    auto properties = profiling ? sycl::property_list{in_order(), enable_profiling()} : sycl::property_list{in_order()};
    return counted(queue_kind, new sycl::queue(the(context), the(device), noted, properties));
  });
}

sycl::queue *pg_copy_queue(const sycl::queue *queue) {
  return guarded((sycl::queue *)nullptr, [&] { return counted(queue_kind, new sycl::queue(the(queue))); });
}

void pg_drop_queue(sycl::queue *queue) { dropped(queue_kind, queue); }

// 1: it is, 0: it is not.
int pg_is_in_order(const sycl::queue *queue) {
  return guarded(refused, [&] { return int(the(queue).is_in_order()); });
}

int pg_measures(const sycl::queue *queue) {
  return guarded(refused, [&] { return int(the(queue).has_property<sycl::property::queue::enable_profiling>()); });
}

int pg_finish(sycl::queue *queue) {
  return guarded(refused, [&] {
    the(queue).wait_and_throw();
    std::lock_guard<std::mutex> held(failures_lock);
    if (failures.empty())
      return 0;
    error_code = not_sycl;
    error_text.swap(failures);
    failures.clear();
    return refused;
  });
}

// An event of the library's behind everything in the queue so far and behind the events.
int pg_barrier(sycl::queue *queue, sycl::event *const *ends, long count, sycl::event **out) {
  return guarded(refused, [&] {
    if (count <= 0)
      return handed(out, the(queue).ext_oneapi_submit_barrier());
    return handed(out, the(queue).ext_oneapi_submit_barrier(events_of(ends, count)));
  });
}

int pg_wait(sycl::event *event) {
  return guarded(refused, [&] {
    the(event).wait_and_throw();
    return 0;
  });
}

// 1: done, 0: not yet.
int pg_is_done(const sycl::event *event) {
  return guarded(refused, [&] {
    auto status = the(event).get_info<sycl::info::event::command_execution_status>();
    return int(status == sycl::info::event_command_status::complete);
  });
}

// Nanoseconds of the device's clock.
int pg_end_time(const sycl::event *event, unsigned long *nanoseconds) {
  return guarded(refused, [&] {
    the(nanoseconds) = the(event).get_profiling_info<sycl::info::event_profiling::command_end>();
    return 0;
  });
}

// Copies for libraries that give them back by themselves.
sycl::event *pg_give_event(const sycl::event *event) {
  return guarded((sycl::event *)nullptr, [&] { return new sycl::event(the(event)); });
}

sycl::queue *pg_give_queue(const sycl::queue *queue) {
  return guarded((sycl::queue *)nullptr, [&] { return new sycl::queue(the(queue)); });
}

void pg_drop_event(sycl::event *event) { dropped(event_kind, event); }

// Memory of the device, or of the host where `of_host`; null without an error where there is none left.
void *pg_allocate(const sycl::context *context, const sycl::device *device, size_t bytes, size_t alignment,
                  int of_host) {
  return guarded((void *)nullptr, [&] {
    return of_host ? sycl::aligned_alloc_host(alignment, bytes, the(context))
                   : sycl::aligned_alloc_device(alignment, bytes, the(device), the(context));
  });
}

int pg_free(void *memory, const sycl::context *context) {
  return guarded(refused, [&] {
    sycl::free(memory, the(context));
    return 0;
  });
}

// What kind of memory an address is in for a context: 0 host, 1 device, 2 shared, 3 not the context's.
int pg_memory_kind(const void *memory, const sycl::context *context) {
  return guarded(refused, [&] {
    switch (sycl::get_pointer_type(memory, the(context))) {
    case sycl::usm::alloc::host:
      return 0;
    case sycl::usm::alloc::device:
      return 1;
    case sycl::usm::alloc::shared:
      return 2;
    default:
      return 3;
    }
  });
}

int pg_copy(sycl::queue *queue, void *target, const void *source, size_t bytes, sycl::event *const *ends, long count,
            sycl::event **out) {
  return guarded(refused, [&] {
    return handed(out, the(queue).memcpy(target, source, bytes, events_of(ends, count)));
  });
}

int pg_fill(sycl::queue *queue, void *target, int byte, size_t bytes, sycl::event *const *ends, long count,
            sycl::event **out) {
  return guarded(refused, [&] {
    return handed(out, the(queue).memset(target, byte, bytes, events_of(ends, count)));
  });
}
}
