// SPDX-License-Identifier: Apache-2.0
// The NPU's compiler: an in-memory IR and build flags in, a native binary out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/drivers/npu/compiler/build_flags.hpp>  // IWYU pragma: export
#include <tenon/drivers/npu/compiler/compile_cache.hpp>
#include <tenon/drivers/npu/compiler/native_blob.hpp>
#include <tenon/drivers/npu/compiler/numerics.hpp>
#include <tenon/drivers/npu/compiler/options.hpp>
#include <tenon/drivers/npu/compiler/program.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::npu::compiler {

struct Request {
  std::span<const std::uint8_t> ir;   ///< Read during the call only.
  const char* build_flags = nullptr;  ///< May be null.
  Platform device;                    ///< The target platform, unless the flags name another.
  bool profiling = false;             ///< Same as PERF_COUNT=YES.
  /// The client's own hash of the model, which then identifies it in the cache. The client promises that models with one
  /// hash compile to the same program.
  std::optional<std::uint64_t> input_hash;
  Numerics numerics = Numerics::kF32;
};

struct Compiled {
  std::shared_ptr<Program> program;  ///< Parsed and verified, not loaded.
  bool from_cache = false;
  /// Warnings about unknown parameters, the output of LOG_LEVEL (LOG_INFO and above list the plan's steps), and what the cache did,
  /// in the words of hardware's driver, for which clients look.
  std::string log;
};

/// @param cache  Null: no caching. A corrupt entry is compiled again and replaced.
/// @errors kInvalidArgument, kUnimplemented, kDataLoss: in model or flags; lists every unsupported node.
/// @thread any.
Compiled compile(const Request& request, const CompileCache* cache);

/// Friendly names of the nodes that can be compiled. @errors kInvalidArgument: malformed model or flags.
std::vector<std::string> supported_layers(const Request& request);

/// One line per step of a plan: kernel, node, fused nodes. For logs and for comparisons in tests.
std::string describe_plan(const engine::Plan& plan, const Settings& settings);

}  // namespace tenon::npu::compiler
