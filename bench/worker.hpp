// SPDX-License-Identifier: Apache-2.0
// Shared by the bench programs that are compiled twice, against Tenon and, with PEER_OPENVINO, against OpenVINO: the
// namespace `api` of either library, and commands line by line.
#pragma once

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#ifdef PEER_OPENVINO
#include <openvino/runtime/core.hpp>
#include <openvino/runtime/properties.hpp>
namespace api = ov;
#else
#include <tenon/runtime/runtime.hpp>
namespace api = tenon;
#endif

namespace bench {

/// A number of this process from /proc/self/status, in kB: "VmHWM:", its peak; 0 if it is not there.
inline long status_kb(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (long kb = 0; word == wanted && status >> kb) return kb;
  return 0;
}

/// Reads lines until "quit" or the end, and calls `command(verb, words)` with the first word and the rest of each. It
/// returns whether it knows the verb, and prints the answer. @return what main returns.
template <typename Command>
int serve(Command command) try {
  for (std::string line; std::getline(std::cin, line) && line != "quit"; std::fflush(stdout)) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (!command(verb, words)) std::printf("error: what is \"%s\"?\n", line.c_str());
  }
  return 0;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 1;
}

}  // namespace bench
