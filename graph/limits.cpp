// SPDX-License-Identifier: Apache-2.0
// The limits of the process.
#include <tenon/graph/limits.hpp>

#include <algorithm>
#include <fstream>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/graph/wanted.hpp>

namespace tenon {
inline namespace v1 {
namespace {

struct Guarded {
  std::mutex mutex;
  ModelLimits limits;
};
Guarded& guarded() {
  static Guarded* all = new Guarded;
  return *all;
}

std::uint64_t machine_bytes() {
  static const std::uint64_t bytes = [] {
    std::uint64_t all = platform::machine_memory_bytes();
    std::uint64_t group = 0;
    std::ifstream file("/sys/fs/cgroup/memory.max");
    if (file >> group && group > 0) all = std::min(all, group);
    return all;
  }();
  return bytes;
}

}  // namespace

ModelLimits model_limits() {
  const std::lock_guard lock(guarded().mutex);
  return guarded().limits;
}

void set_model_limits(const ModelLimits& limits) {
  if (limits.nodes == 0)
    throw Error(Code::kInvalidArgument,
                std::string(limit_property::kNodes) + ": a model has at least one node, found 0");
  if (limits.depth == 0 || limits.depth > kMaxModelDepth)
    throw Error(Code::kInvalidArgument, std::string(limit_property::kDepth) + ": expected 1 to " +
                                            std::to_string(kMaxModelDepth) + ", found " + std::to_string(limits.depth));
  const std::lock_guard lock(guarded().mutex);
  guarded().limits = limits;
}

std::uint64_t allowed_bytes() {
  const std::uint64_t set = model_limits().bytes;
  return set ? set : machine_bytes() / 4 * 3;
}

std::string limit_text(const char* property, std::uint64_t limit) {
  return std::string("; the limit ") + property + " is " + std::to_string(limit) +
         ": Core::set_property with a larger one allows more";
}

TimeLimit::TimeLimit(std::uint64_t seconds)
    : seconds_(std::min<std::uint64_t>(seconds, 1'000'000'000)),
      end_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds_)) {}

void TimeLimit::check(const char* what, const std::string& subject, const char* property) const {
  CancellationScope::check(what, subject);
  if (!is_over()) return;
  throw Error(Code::kDeadlineExceeded, std::string(what) + " '" + subject + "' takes longer than " +
                                           std::to_string(seconds_) + " s" + limit_text(property, seconds_));
}

}  // namespace v1
}  // namespace tenon
