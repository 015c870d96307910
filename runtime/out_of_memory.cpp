// SPDX-License-Identifier: Apache-2.0
// Names the resource that ran out.
#include <tenon/runtime/internal/out_of_memory.hpp>

#include <optional>

#include <tenon/core/platform/process.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// " (RLIMIT_AS allows 4096 bytes)" if there is such a limit: that is then what to raise.
std::string limit_text(const std::optional<platform::Limit>& limit, const char* unit) {
  if (!limit) return "";
  return " (" + std::string(limit->name) + " allows " + std::to_string(limit->value) + ' ' + unit + ')';
}

}  // namespace

void rethrow_out_of_memory(const std::string& what) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(Code::kResourceExhausted, what + ": out of memory" + limit_text(platform::memory_limit(), "bytes"));
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    throw Error(Code::kResourceExhausted,
                what + ": cannot start a thread: " + error.code().message() +
                    limit_text(platform::thread_limit(), "threads of this user") +
                    "; end other threads, or raise the limit",
                "pthread_create", error.code().value());
  } catch (const Error& error) {
    std::string message = what + ": " + error.what();
    if (error.native_api().empty()) throw Error(error.code(), message, error.where());
    // The new error already names the call and its code.
    const std::string end = " (" + error.native_api() + " gave " + std::to_string(error.native_code()) + ")";
    if (message.ends_with(end)) message.resize(message.size() - end.size());
    throw Error(error.code(), message, error.native_api(), error.native_code(), error.where());
  }
}

}  // namespace v1
}  // namespace tenon
