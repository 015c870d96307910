// SPDX-License-Identifier: Apache-2.0
// The trace's output: one write per event.
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/drivers/npu/instrument/trace.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/wait.hpp>
#include <tenon/frameworks/level_zero/abi/result_names.hpp>

namespace tenon::npu {
namespace {

constexpr std::uint64_t kDeviceLanes = 1'000'000'000;  // Above all thread ids.

std::uint64_t thread_id() noexcept {
  thread_local const auto id = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  return id;
}

std::string name_of(ze_result_t result) {
  const char* name = abi::find_result_name(static_cast<std::uint32_t>(result));
  if (name) return name;
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", static_cast<unsigned>(result));
  return text;
}

/// In microseconds, with three decimals, in any locale.
std::string microseconds(std::uint64_t ns) {
  std::string digits = std::to_string(ns % 1000);
  return std::to_string(ns / 1000) + "." + std::string(3 - digits.size(), '0') + digits;
}

void say(const std::string& path, const char* what) {
  std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_TRACE: %s: %s\n", path.c_str(), what);
}

/// Replaces "%p" by the process id.
std::string expanded(std::string path) {
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos;)
    path.replace(at, 2, std::to_string(::getpid()));
  return path;
}

/// A file that no other process traces into, emptied. It grows under its name, so that the trace of a process that is killed is there.
/// @return none: said why.
UniqueFd open_file(const std::string& path) try {
  GrowingFile file(path, GrowingFile::Place::kAnywhere, 0644);
  const char* wrong = nullptr;
  if (!file.is_regular())
    wrong = "is no file; nothing is traced";
  else if (!file.try_lock())
    wrong = "another process is tracing into it; write %p into the name, which becomes the process's number";
  else if (const int error = file.reset_to(0))
    wrong = std::strerror(error);
  if (!wrong) return UniqueFd(file.release());
  say(path, wrong);
  return UniqueFd();
} catch (const Error& error) {
  say(path, std::strerror(static_cast<int>(error.native_code())));
  return UniqueFd();
}

}  // namespace

Trace* Trace::open() noexcept try {
  const char* const wanted = std::getenv("TENON_NPU_TRACE");
  if (!wanted || !*wanted) return nullptr;
  const std::string path = expanded(wanted);
  if (path == "stderr") return new Trace(STDERR_FILENO, false);
  UniqueFd fd = open_file(path);
  return fd ? new Trace(fd.release(), path.ends_with(".json")) : nullptr;
} catch (...) {
  return nullptr;
}

Trace* Trace::get() noexcept {
  static Trace* const trace = open();  // Never closed: clients call in from their own destructors.
  return is_forked_process() ? nullptr : trace;
}

Trace::Trace(int fd, bool is_json) noexcept : fd_(fd), is_json_(is_json), begin_ns_(now_ns()) {
  if (!is_json) return;
  std::lock_guard lock(mutex_);
  write("[");
}

void Trace::call(const Event& event) noexcept {
  if (is_json_)
    add_json(event, "call", thread_id(), {});
  else
    add_line(event, "thread " + std::to_string(thread_id()));
}

void Trace::execution(const void* queue, std::uint32_t lane, int depth, const Event& event) noexcept {
  const std::string number = std::to_string(handle_number(queue));
  if (is_json_)
    add_json(event, depth == 0 ? "execution" : "command",
             (lane + 1) * kDeviceLanes + static_cast<std::uint64_t>(handle_number(queue) + 1),
             "NPU, queue#" + number + (lane > 0 ? ", beside it " + std::to_string(lane) : ""));
  else
    add_line(event, std::string(depth == 0 ? "" : "  ") + "NPU, queue#" + number);
}

void Trace::add_line(const Event& event, std::string_view source) noexcept try {
  std::string text = "[" + microseconds(event.begin_ns - std::min(begin_ns_, event.begin_ns)) + " us] ";
  text.append(source).append(": ").append(event.name).append("(");
  // Outputs come after the arguments.
  const std::size_t arrow = std::min(event.arguments.find(" -> "), event.arguments.size());
  text.append(event.arguments.substr(0, arrow)).append(")").append(event.arguments.substr(arrow));
  text += " = " + name_of(event.result) + ", " + microseconds(event.end_ns - event.begin_ns) + " us\n";
  std::lock_guard lock(mutex_);
  write(text);
} catch (...) {  // Out of memory: the event is dropped.
}

void Trace::add_json(const Event& event, const char* category, std::uint64_t lane, std::string_view lane_name) noexcept
    try {
  const std::string where =
      ",\"pid\":" + std::to_string(::getpid()) + ",\"tid\":" + std::to_string(lane) + ",\"args\":{";
  std::string text = "{\"name\":" + metadata::json_string(event.name) + ",\"cat\":\"" + category +
                     "\",\"ph\":\"X\",\"ts\":" + microseconds(event.begin_ns - std::min(begin_ns_, event.begin_ns)) +
                     ",\"dur\":" + microseconds(event.end_ns - event.begin_ns) + where +
                     "\"arguments\":" + metadata::json_string(event.arguments) +
                     ",\"result\":" + metadata::json_string(name_of(event.result)) + "}}";
  std::lock_guard lock(mutex_);
  if (!lane_name.empty() && std::find(lanes_.begin(), lanes_.end(), lane) == lanes_.end()) {
    lanes_.push_back(lane);
    text = "{\"name\":\"thread_name\",\"ph\":\"M\"" + where + "\"name\":" + metadata::json_string(lane_name) + "}},\n" +
           text;
  }
  write((end_ > 2 ? ",\n" : "\n") + text);
} catch (...) {
}

void Trace::write(std::string_view text) noexcept {
  if (is_broken_) return;
  std::string all(text);
  if (is_json_) all += "\n]\n";
  std::size_t done = 0;
  while (done < all.size()) {
    const ssize_t count = is_json_
                              ? ::pwrite(fd_, all.data() + done, all.size() - done, static_cast<off_t>(end_ + done))
                              : ::write(fd_, all.data() + done, all.size() - done);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) {
      is_broken_ = true;
      std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_TRACE: the trace ends here: %s\n", std::strerror(errno));
      return;
    }
    done += static_cast<std::size_t>(count);
  }
  end_ += text.size();
}

void ShortText::add(std::string_view text) noexcept {
  constexpr std::string_view kMore = "...";
  if (is_full_) return;
  is_full_ = text.size() + kMore.size() > text_.size() - size_;
  for (const char c : is_full_ ? kMore : text) text_[size_++] = c;
}

void ShortText::add_hex(std::uint64_t value) noexcept {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  add(text);
}

void ShortText::add_number(std::uint64_t value) noexcept {
  char text[24];
  std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
  add(text);
}

void ShortText::add_handle(const char* kind, const void* handle) noexcept {
  if (!handle) return add("null");
  add(kind);
  const std::int64_t number = handle_number(handle);
  if (number < 0) {
    add("?");
    return add_hex(reinterpret_cast<std::uintptr_t>(handle));
  }
  add("#");
  add_number(static_cast<std::uint64_t>(number));
}

void TracedCall::add_text(const char* text) noexcept {
  if (!text) return text_.add("null");
  text_.add("'");
  for (int i = 0; text[i] && i < 120; ++i) {
    const char c = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
    text_.add({&c, 1});
  }
  text_.add("'");
}

void TracedCall::begin() noexcept {
  if (trace_) begin_ns_ = now_ns();
}

void TracedCall::end() noexcept {
  if (trace_) end_ns_ = now_ns();
}

void TracedCall::write(ze_result_t result) noexcept {
  if (!trace_) return;
  text_.add(outputs_.text());
  trace_->call({name_, text_.text(), begin_ns_, end_ns_, result});
}

}  // namespace tenon::npu
