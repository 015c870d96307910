// SPDX-License-Identifier: Apache-2.0
// Runs the rows, each in a process of its own, and prints a line for each: "row<TAB>outcome".
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>

#include "rows.hpp"

namespace twin {
namespace {

constexpr unsigned kRowTimeout_s = 150;

/// Runs one row in a process of its own: what a row breaks, the next one does not see.
std::string outcome_of(const Row& row) {
  int pipes[2];
  if (::pipe(pipes) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipes[0]);
    ::alarm(kRowTimeout_s);
    std::string text;
    try {
      text = row();
    } catch (const std::exception& error) {
      text = std::string("fails: ") + error.what();
    }
    const ssize_t written = ::write(pipes[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(pipes[1]);
  std::string text(1 << 16, '\0');
  std::size_t size = 0;
  for (ssize_t got = 0; (got = ::read(pipes[0], text.data() + size, text.size() - size)) > 0;)
    size += static_cast<std::size_t>(got);
  ::close(pipes[0]);
  text.resize(size);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "crashes";
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\t', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace
}  // namespace twin

/// rows [PART]: the rows whose names contain PART.
int main(int argc, char** argv) {
  using namespace twin;
  folder = std::filesystem::temp_directory_path() / ("fake_intel_gpu_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  for (const auto& [name, row] : rows()) {
    if (argc > 1 && name.find(argv[1]) == std::string::npos) continue;
    std::cout << name << '\t' << outcome_of(row) << std::endl;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
