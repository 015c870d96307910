// SPDX-License-Identifier: Apache-2.0
// What the steps of a plan read and write: who made it, how it lies, how many bytes it has. For reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/engine/plan/descriptions.hpp>
#include <tenon/engine/plan/plan.hpp>

namespace tenon::inline v1::engine {

/// Where a value comes from.
struct FlowSource {
  enum class Kind : std::uint8_t { kStep, kInput, kState };
  Kind kind = Kind::kStep;
  std::size_t index = 0;  ///< Of the step, the input or the variable.
  std::size_t port = 0;   ///< Of the step's outputs.
  friend bool operator==(const FlowSource&, const FlowSource&) = default;
};

/// An output of a step, as it lies in memory.
struct FlowOutput {
  ElementType type = ElementType::kU8;
  Shape shape;
  std::string layout;  ///< See exec_model_info::OUTPUT_LAYOUTS.
};

struct StepFlow {
  std::vector<FlowSource> sources;  ///< Each once, in the order of the operands.
  std::vector<FlowOutput> outputs;  ///< Without memory that the step uses for itself.
  ElementType precision = ElementType::kU8;
  /// Of whole operands: a step may touch a part of them only.
  std::size_t bytes_read = 0, bytes_written = 0, weight_bytes = 0;
  std::optional<std::uint64_t> multiply_adds;
};

/// Steps that make one result of the plan: several if its parts are joined where they lie.
struct ResultFlow {
  std::vector<FlowSource> sources;
  std::string joined_name, joined_type;  ///< The node that joins several.
};

struct PlanFlow {
  std::vector<StepFlow> steps;
  std::vector<ResultFlow> results;
};

/// @cost about that of a few passes over the steps' operands. @thread any.
PlanFlow flow_of(const PlanImpl& plan);

/// The axes in the order in which they lie: "abcd", "acdb", "aBcd16b"; "undef" where memory cannot be described so.
std::string layout_name(const md& desc, std::size_t rank);

}  // namespace tenon::inline v1::engine
