// SPDX-License-Identifier: Apache-2.0
// Limits of a model's use of the machine: a file of a few kilobytes can request any amount of memory and time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Exceeding a limit throws kResourceExhausted (time: kDeadlineExceeded), naming the limit, what was found and how to
/// allow more. Limits hold for the whole process; Core's properties TENON_LIMIT_... set them.
struct ModelLimits {
  /// Nodes that a reader makes from a file, including those in bodies and inlined functions.
  std::uint64_t nodes = 1'000'000;
  /// Nesting depth of control-flow bodies. Each level uses call stack, and within loops each level may infer shapes
  /// three times: 3 to the power of the depth in all.
  std::uint64_t depth = 8;
  /// Host memory that the tensors of one compilation, or of one inference, may take together; a GPU's for values between
  /// its kernels, too. 0: three quarters of the memory of this machine (or of this process's control group), and the
  /// whole memory of a GPU that has its own.
  std::uint64_t bytes = 0;
  /// Time for one compilation, checked between passes and between nodes. 0: no limit.
  std::uint64_t compile_seconds = 0;
  /// Time for one inference: on the CPU checked between steps and between loop iterations, on a GPU between parts of a
  /// model that values cut. 0: no limit.
  std::uint64_t infer_seconds = 0;
};

/// The largest value that ModelLimits::depth accepts.
inline constexpr std::uint64_t kMaxModelDepth = 64;

/// @thread any.
TENON_API ModelLimits model_limits();
/// @errors kInvalidArgument: no nodes, or a depth of 0 or above kMaxModelDepth; nothing is changed then.
TENON_API void set_model_limits(const ModelLimits& limits);
/// ModelLimits::bytes, with 0 replaced by the actual number.
TENON_API std::uint64_t allowed_bytes();

/// "; the limit TENON_LIMIT_NODES is 1000000: Core::set_property with a larger one allows more".
TENON_API std::string limit_text(const char* property, std::uint64_t limit);

/// The deadline of one compilation or one inference.
class TENON_API TimeLimit {
 public:
  /// Starts now; 0 seconds: no limit.
  explicit TimeLimit(std::uint64_t seconds);
  bool is_set() const { return seconds_ > 0; }
  bool is_over() const { return seconds_ > 0 && std::chrono::steady_clock::now() >= end_; }
  /// @errors kDeadlineExceeded: "compiling 'm' takes longer than ..."; `property` names the limit.
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
