// SPDX-License-Identifier: Apache-2.0
// The NPU's compiler: an in-memory IR and build flags in, a native binary out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/drivers/npu/compiler/build_flags.hpp>
#include <tenon/drivers/npu/compiler/compile_cache.hpp>
#include <tenon/drivers/npu/compiler/program.hpp>

namespace tenon::npu::compiler {

/// The newest operation set whose operations the compiler is told of by clients.
inline constexpr std::uint32_t kMaxOpset = 17;

struct Request {
  std::span<const std::uint8_t> ir;   ///< Read during the call only.
  const char* build_flags = nullptr;  ///< May be null.
  Platform device;                    ///< What is compiled for unless the flags name another.
  bool profiling = false;             ///< As PERF_COUNT=YES.
};

struct Compiled {
  std::shared_ptr<Program> program;  ///< Parsed and verified; not loaded.
  bool from_cache = false;
  /// Warnings about what was asked for and is not known, and what LOG_LEVEL asks for: LOG_INFO and more lists the
  /// plan's steps.
  std::string log;
};

/// @param cache  Null: neither looked into nor written to. An entry that is not sound is compiled anew and replaced.
/// @errors kInvalidArgument, kUnimplemented, kDataLoss: the model or the flags, with every unsupported node named.
/// @thread any.
Compiled compile(const Request& request, const CompileCache* cache);

/// Friendly names of the nodes that can be compiled. @errors kInvalidArgument: no model, or flags.
std::vector<std::string> supported_layers(const Request& request);

/// One line per step of a plan: kernel, node, what it also computes. For logs and for comparisons in tests.
std::string describe_plan(const engine::Plan& plan, const Settings& settings);

}  // namespace tenon::npu::compiler
