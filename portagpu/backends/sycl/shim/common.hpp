// Errors as text and code of the calling thread, and counts of the objects that were handed out.
#pragma once

#include <atomic>
#include <exception>
#include <string>

#include <sycl/detail/core.hpp>

namespace portagpu {

enum Kind : int { device_kind, context_kind, queue_kind, event_kind, program_kind, kernel_kind, kinds };

inline std::atomic<long> living[kinds];
inline thread_local std::string error_text;
inline thread_local int error_code = 0;

// Codes below zero are the shim's own, others are those of `sycl::errc`.
constexpr int refused = -1, not_sycl = -2;

template <class T> T *counted(Kind kind, T *made) {
  ++living[kind];
  return made;
}

template <class T> void dropped(Kind kind, T *object) {
  if (object) {
    delete object;
    --living[kind];
  }
}

// What `action` returns; `otherwise` where it throws, and then the thread's error says what.
template <class Action, class Result> Result guarded(Result otherwise, Action action) noexcept {
  try {
    error_code = 0;
    return action();
  } catch (const sycl::exception &error) {
    error_code = error.code().category() == sycl::sycl_category() ? error.code().value() : not_sycl;
    error_text = error.what();
  } catch (const std::exception &error) {
    error_code = not_sycl;
    error_text = error.what();
  } catch (...) {
    error_code = not_sycl;
    error_text = "an error without a name";
  }
  if (error_code == 0)
    error_code = not_sycl;
  return otherwise;
}

} // namespace portagpu
