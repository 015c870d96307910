// SPDX-License-Identifier: Apache-2.0
// The trace of the client's calls and of the device's work: TENON_NPU_TRACE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <level_zero/ze_api.h>

#include <tenon/frameworks/level_zero/abi/graph.hpp>
#include <tenon/frameworks/level_zero/abi/profiling.hpp>

namespace tenon::npu {

namespace abi = tenon::level_zero::abi;

/// The output of the trace: a Chrome JSON file, a text file, or stderr. Each event is written at once and the JSON
/// always stays complete, so the file is usable after a crash.
/// @thread all members from any thread.
class Trace {
 public:
  /// The process's trace. Null if TENON_NPU_TRACE is not set, if its file cannot be written (reported on stderr), or in
  /// a child forked from the traced process.
  static Trace* get() noexcept;

  struct Event {
    std::string_view name, arguments;
    std::uint64_t begin_ns, end_ns;  ///< Times of now_ns()'s clock.
    ze_result_t result;
  };
  /// Records a call of the calling thread.
  void call(const Event& event) noexcept;
  /// Records work that the queue or immediate list with this handle ran on the device. @param depth  0: a list; 1: one
  /// of its commands. @param lane  Index of a lane, from 0; work that the queue runs concurrently has different lanes.
  void execution(const void* queue, std::uint32_t lane, int depth, const Event& event) noexcept;

 private:
  Trace(int fd, bool is_json) noexcept;
  static Trace* open() noexcept;
  void add_line(const Event& event, std::string_view source) noexcept;
  void add_json(const Event& event, const char* category, std::uint64_t lane, std::string_view lane_name) noexcept;
  void write(std::string_view text) noexcept;  ///< Requires mutex_.

  const int fd_;
  const bool is_json_;
  const std::uint64_t begin_ns_;
  std::mutex mutex_;
  std::uint64_t end_ = 0;             ///< JSON: where the next event is written, before the closing bracket.
  std::vector<std::uint64_t> lanes_;  ///< JSON: lanes that already have a name.
  bool is_broken_ = false;
};

/// Text of bounded length; an overflow is cut and marked "...".
class ShortText {
 public:
  std::string_view text() const noexcept { return {text_.data(), size_}; }
  void add(std::string_view text) noexcept;
  void add_hex(std::uint64_t value) noexcept;
  void add_number(std::uint64_t value) noexcept;
  /// Appends e.g. "list#12": the handle type's name and the slot number.
  void add_handle(const char* kind, const void* handle) noexcept;

 private:
  std::array<char, 640> text_;
  std::size_t size_ = 0;
  bool is_full_ = false;
};

// Display names of the handle types.
constexpr const char* handle_kind(ze_driver_handle_t) { return "driver"; }
constexpr const char* handle_kind(ze_device_handle_t) { return "device"; }
constexpr const char* handle_kind(ze_context_handle_t) { return "context"; }
constexpr const char* handle_kind(ze_command_queue_handle_t) { return "queue"; }
constexpr const char* handle_kind(ze_command_list_handle_t) { return "list"; }
constexpr const char* handle_kind(ze_fence_handle_t) { return "fence"; }
constexpr const char* handle_kind(ze_event_pool_handle_t) { return "pool"; }
constexpr const char* handle_kind(ze_event_handle_t) { return "event"; }
constexpr const char* handle_kind(abi::GraphHandle) { return "graph"; }
constexpr const char* handle_kind(abi::GraphQueryHandle) { return "query"; }
constexpr const char* handle_kind(abi::GraphBuildLogHandle) { return "log"; }
constexpr const char* handle_kind(abi::ProfilingPoolHandle) { return "profiling_pool"; }
constexpr const char* handle_kind(abi::ProfilingQueryHandle) { return "profiling_query"; }

template <typename T>
concept IsHandle = requires(T value) {
  handle_kind(value);
};

/// One call of the client, from its arguments to its result.
class TracedCall {
 public:
  explicit TracedCall(const char* name) noexcept : trace_(Trace::get()), name_(name) {}

  /// Before the call: adds handles, numbers and input strings; other pointers appear as addresses.
  template <typename T>
  void before(const T& value) noexcept {
    if (!trace_) return;
    if (count_++ > 0) text_.add(", ");
    if constexpr (IsHandle<T>) {
      text_.add_handle(handle_kind(value), value);
    } else if constexpr (std::is_same_v<T, const char*>) {
      add_text(value);
    } else if constexpr (std::is_pointer_v<T>) {
      value ? text_.add_hex(reinterpret_cast<std::uintptr_t>(value)) : text_.add("null");
    } else if constexpr (std::is_class_v<T>) {
      text_.add("{...}");  // The handle of memory between processes.
    } else if constexpr (std::is_enum_v<T>) {
      text_.add_number(static_cast<std::uint64_t>(value));
    } else {
      value == static_cast<T>(UINT64_MAX) && sizeof(T) == 8 ? text_.add("max")
                                                            : text_.add_number(static_cast<std::uint64_t>(value));
    }
  }
  void begin() noexcept;
  void end() noexcept;
  /// After a successful call: adds the handles and numbers behind its pointers.
  template <typename T>
  void after(const T& value) noexcept {
    if (!trace_) return;
    const std::uint32_t listed = std::exchange(listed_, 1);
    if constexpr (std::is_same_v<T, std::uint32_t>)
      listed_ = value;  // A number before an array of handles is its length.
    else if constexpr (std::is_pointer_v<T> && !IsHandle<T>)
      after_pointer(value, listed);
  }
  void write(ze_result_t result) noexcept;

 private:
  template <typename T>
  void after_pointer(T* value, std::uint32_t listed) noexcept {
    using Plain = std::remove_const_t<T>;
    if (!value) return;
    if constexpr (IsHandle<Plain>) {
      for (std::uint32_t i = 0; i < listed && i < 8; ++i) {
        arrow();
        outputs_.add_handle(handle_kind(value[i]), value[i]);
      }
    } else if constexpr (std::is_same_v<Plain, std::uint32_t> || std::is_same_v<Plain, std::uint64_t>) {
      if constexpr (!std::is_const_v<T>) {
        listed_ = static_cast<std::uint32_t>(*value);
        arrow();
        outputs_.add_number(std::uint64_t{*value});
      }
    } else if constexpr (std::is_same_v<T, void*>) {
      arrow();
      outputs_.add_hex(reinterpret_cast<std::uintptr_t>(*value));
    }
  }
  void arrow() noexcept { outputs_.add(outputs_.text().empty() ? " -> " : ", "); }
  void add_text(const char* text) noexcept;

  Trace* const trace_;
  const char* const name_;
  ShortText text_, outputs_;
  int count_ = 0;
  std::uint32_t listed_ = 1;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace tenon::npu
