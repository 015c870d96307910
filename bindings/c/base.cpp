// SPDX-License-Identifier: Apache-2.0
// Statuses, this thread's last error, texts and lists of texts.
#include <cstdlib>
#include <new>

#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/core/version.hpp>

namespace tenon::c {
namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

void keep_message(const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {
    last_error().clear();  // No memory for the message.
  }
}

}  // namespace

tenon_status_t status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    try {
      keep_message(describe(error).c_str());
    } catch (...) {
      keep_message(error.what());
    }
    return static_cast<tenon_status_t>(error.code());
  } catch (const std::bad_alloc&) {
    keep_message("out of memory");
    return TENON_RESOURCE_EXHAUSTED;
  } catch (const std::length_error& error) {
    keep_message(error.what());
    return TENON_RESOURCE_EXHAUSTED;
  } catch (const std::exception& error) {
    keep_message(error.what());
    return TENON_UNKNOWN;
  } catch (...) {
    keep_message("an exception of a foreign type");
    return TENON_UNKNOWN;
  }
}

char* copy_of(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void refuse(const std::string& message) { throw Error(Code::kInvalidArgument, message); }

void refuse_past_end(const char* what, std::size_t index, std::size_t count) {
  throw Error(Code::kOutOfRange,
              std::string(what) + " " + std::to_string(index) + " does not exist; there are " + std::to_string(count));
}

}  // namespace tenon::c

const char* tenon_status_name(tenon_status_t status) {
  if (status < TENON_OK || status > TENON_DATA_LOSS) return "unknown";
  return tenon::name(static_cast<tenon::Code>(status)).data();
}
const char* tenon_last_error_message() { return tenon::c::last_error().c_str(); }
void tenon_set_last_error_message(const char* message) { tenon::c::keep_message(message ? message : ""); }
const char* tenon_version() { return TENON_VERSION; }
void tenon_string_free(char* text) { std::free(text); }

size_t tenon_strings_count(const tenon_strings_t* strings) {
  return tenon::c::ask(strings, size_t{0}, [](const tenon_strings& list) { return list.values.size(); });
}
const char* tenon_strings_get(const tenon_strings_t* strings, size_t index) {
  return tenon::c::ask(strings, static_cast<const char*>(nullptr), [&](const tenon_strings& list) {
    return index < list.values.size() ? list.values[index].c_str() : nullptr;
  });
}
void tenon_strings_free(tenon_strings_t* strings) { tenon::c::free_handle(strings); }
