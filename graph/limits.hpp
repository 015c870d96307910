// SPDX-License-Identifier: Apache-2.0
// What models may ask of the machine: a file of some kilobytes can ask for any amount of memory and time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// What is refused with kResourceExhausted (time: kDeadlineExceeded) and the name of the limit, what was found, and how
/// to allow more. For the whole process; Core's properties TENON_LIMIT_... set them.
struct ModelLimits {
  /// Nodes that a reader makes of a file, those of bodies and inlined functions included.
  std::uint64_t nodes = 1'000'000;
  /// Bodies of control flow within each other. Each level costs call stack, and shapes within loops may be inferred
  /// three times on each: 3 to the power of the depth in all.
  std::uint64_t depth = 8;
  /// Host memory that the tensors of one compilation, or of one inference, may take together. 0: three quarters of what
  /// this machine (or this process's control group) has.
  std::uint64_t bytes = 0;
  /// Time of one compilation, looked at between passes and between nodes. 0: any.
  std::uint64_t compile_seconds = 0;
  /// Time of one inference on the CPU, looked at between steps and between iterations of loops. 0: any.
  std::uint64_t infer_seconds = 0;
};

/// The deepest that ModelLimits::depth may allow.
inline constexpr std::uint64_t kMaxModelDepth = 64;

/// @thread any.
TENON_API ModelLimits model_limits();
/// @errors kInvalidArgument: no nodes, or a depth that is 0 or above kMaxModelDepth; nothing is changed then.
TENON_API void set_model_limits(const ModelLimits& limits);
/// ModelLimits::bytes with 0 made a number.
TENON_API std::uint64_t allowed_bytes();

/// "; the limit TENON_LIMIT_NODES is 1000000: Core::set_property with a larger one allows more".
TENON_API std::string limit_text(const char* property, std::uint64_t limit);

/// Until when one compilation, or one inference, may go on.
class TENON_API TimeLimit {
 public:
  /// From now on; 0 seconds: for ever.
  explicit TimeLimit(std::uint64_t seconds);
  bool is_set() const { return seconds_ > 0; }
  bool is_over() const { return seconds_ > 0 && std::chrono::steady_clock::now() >= end_; }
  /// @errors kDeadlineExceeded: "compiling 'm' takes longer than ..."; `property` says which limit it was.
  void check(const char* what, const std::string& subject, const char* property) const;

 private:
  std::uint64_t seconds_;
  std::chrono::steady_clock::time_point end_;
};

namespace limit_property {
inline constexpr const char* kNodes = "TENON_LIMIT_NODES";
inline constexpr const char* kDepth = "TENON_LIMIT_DEPTH";
inline constexpr const char* kBytes = "TENON_LIMIT_BYTES";
inline constexpr const char* kCompileSeconds = "TENON_LIMIT_COMPILE_SECONDS";
inline constexpr const char* kInferSeconds = "TENON_LIMIT_INFER_SECONDS";
}  // namespace limit_property

}  // namespace v1
}  // namespace tenon
