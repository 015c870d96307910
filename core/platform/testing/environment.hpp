// SPDX-License-Identifier: Apache-2.0
// For tests: variables of this process's environment, and its command line.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#ifdef _WIN32
// Not windows.h, whose macros tests need not have.
extern "C" __declspec(dllimport) char* __stdcall GetCommandLineA();
#endif

namespace tenon::inline v1::platform {

/// Null: no such variable from now on. @thread no other thread may read the environment meanwhile.
inline void set_variable(const char* name, const char* value) {
#ifdef _WIN32
  ::_putenv_s(name, value ? value : "");
#else
  value ? ::setenv(name, value, 1) : ::unsetenv(name);
#endif
}

/// What this process was started with, also before main().
inline std::string command_line() {
#ifdef _WIN32
  return ::GetCommandLineA();
#else
  std::ifstream file("/proc/self/cmdline");
  return {std::istreambuf_iterator<char>(file), {}};
#endif
}

/// A variable that has its former value again at the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    set_variable(name, value.c_str());
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { set_variable(name_, before_ ? before_->c_str() : nullptr); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace tenon::inline v1::platform
