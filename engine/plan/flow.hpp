// SPDX-License-Identifier: Apache-2.0
// The steps of a plan in an executed model: what they read and write, how it lies, how many bytes it has. For reports.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include <tenon/engine/engine.hpp>
#include <tenon/engine/plan/descriptions.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/graph/executed_model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

exec_model_info::StepNotes notes_of(const StepInfo& step);

/// Adds a node for each step.
/// @param inputs  Values of the plan's inputs. @param times  How long its steps took, or empty.
/// @return the values of its results. @cost about that of a few passes over the steps' operands. @thread any.
OutputVector add_steps(exec_model_info::ExecutedModel& model, const PlanImpl& plan, const OutputVector& inputs,
                       std::span<const std::chrono::nanoseconds> times);

/// The axes in the order in which they lie: "abcd", "acdb", "aBcd16b"; "undef" where memory cannot be described so.
std::string layout_name(const md& desc, std::size_t rank);

}  // namespace tenon::inline v1::engine
