// Errors as text and code of the calling thread, and counts of the objects that were handed out.
#pragma once

#include <atomic>
#include <exception>
#include <stdexcept>
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

template <class T> void dropped(Kind kind, T *object) noexcept {
  if (!object)
    return;
  --living[kind];
  try {
    delete object;
  } catch (...) { // what a driver says at an object's end helps nobody
  }
}

// What a pointer leads to; nothing leads to nothing here, whatever a caller passes.
template <class T> T &the(T *object) {
  if (!object)
    throw std::invalid_argument("a null pointer was passed in place of an object");
  return *object;
}

inline void note(int code, const char *text) noexcept {
  error_code = code ? code : not_sycl;
  try {
    error_text = text ? text : "";
  } catch (...) { // no memory for it
    error_text.clear();
  }
}

// What `action` returns; `otherwise` where it throws, and then the thread's error says what. Every function for C that
// may throw, or may be passed nothing, is one of these: an exception that leaves it would end the process.
template <class Action, class Result> Result guarded(Result otherwise, Action action) noexcept {
  try {
    error_code = 0;
    return action();
  } catch (const sycl::exception &error) {
    note(error.code().category() == sycl::sycl_category() ? error.code().value() : not_sycl, error.what());
  } catch (const std::exception &error) {
    note(not_sycl, error.what());
  } catch (...) {
    note(not_sycl, "an error without a name");
  }
  return otherwise;
}

} // namespace portagpu
