// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <tenon/frameworks/dmabuf/dmabuf.hpp>  // IWYU pragma: export

#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>
#include <tenon/tests/support/error_of.hpp>  // IWYU pragma: export

namespace tenon::dmabuf::test {

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}
/// Mappings of dma-bufs and stand-ins, as counted by the kernel.
inline std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("/dmabuf:") != std::string::npos || line.find("/memfd:") != std::string::npos;
  return count;
}

/// Checks that the number of descriptors and mappings is the same at the end as at the beginning.
class NothingLeaks : public ::testing::Test {
 protected:
  NothingLeaks() { context(); }
  void TearDown() override {
    native::fault = nullptr;
    EXPECT_EQ(open_descriptors(), descriptors_) << "descriptors leaked, or were closed twice";
    EXPECT_EQ(mappings(), mappings_) << "mappings leaked";
  }

 private:
  std::size_t descriptors_ = open_descriptors(), mappings_ = mappings();
};

/// Returns `error` for the next `times` calls named `call`, and counts all calls by name.
struct Faults {
  Faults() {
    state() = {};
    native::fault = &ask;
  }
  ~Faults() { native::fault = nullptr; }
  static void give(const std::string& call, int error, int times = 1) {
    state().call = call;
    state().error = error;
    state().times = times;
  }
  static int count(const std::string& call) { return state().counts[call]; }

 private:
  struct State {
    std::string call;
    int error = 0, times = 0;
    std::map<std::string, int> counts;
  };
  static State& state() {
    static State the_one;
    return the_one;
  }
  static int ask(const char* call) {
    State& now = state();
    ++now.counts[call];
    if (now.call != call || now.times == 0) return 0;
    --now.times;
    return now.error;
  }
};

/// Allocators of true dma-bufs; empty on a kernel without.
inline std::vector<Allocator> real_allocators() {
  std::vector<Allocator> found = allocators();
  found.pop_back();
  return found;
}

}  // namespace tenon::dmabuf::test
