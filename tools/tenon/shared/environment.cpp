// SPDX-License-Identifier: Apache-2.0
// Replaces the process by another program.
#include <tenon/tools/tenon/shared/environment.hpp>

#include <dlfcn.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>

namespace tenon::tool {
namespace {

/// Quotes a text for a shell, whatever it contains.
std::string quoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  fmt::print(stderr, "tenon: {} cannot be run: {}\n", words[0], std::strerror(error));
  throw CLI::RuntimeError(error == ENOENT ? 127 : 126);
}

}  // namespace

void* load_library(const std::string& file, const std::string& what, const std::string& remedy) {
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    throw Error(Code::kUnavailable,
                fmt::format("{} cannot be loaded: {}; {}", what, reason ? reason : "no reason given", remedy));
  }
  return library;
}

void run_in(const Environment& environment, const std::vector<std::string>& words) {
  for (const auto& [name, value] : environment) {
    if (words.empty())
      fmt::print("export {}={}\n", name, quoted(value));
    else
      setenv(name.c_str(), value.c_str(), 1);
  }
  if (!words.empty()) become(words);
}

}  // namespace tenon::tool
