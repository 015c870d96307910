// SPDX-License-Identifier: Apache-2.0
// Running any program on a software driver: its environment, and the libraries that it will need.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

/// Names and values, set in this order.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Loads a library as a client would, so that a missing one is reported here and not as "no device" later. It stays
/// loaded: unloading is useless in a process that is about to be replaced.
/// @errors kUnavailable: `what` and the reason, then `remedy`.
void* load_library(const std::string& file, const std::string& what, const std::string& remedy);

/// Replaces this process by the program, which keeps its own exit status, signals and terminal. Without words, prints the
/// environment for a shell's eval and returns.
/// @errors CLI::RuntimeError with env(1)'s statuses 126 and 127: the program cannot be run.
void run_in(const Environment& environment, const std::vector<std::string>& words);

}  // namespace tenon::tool
