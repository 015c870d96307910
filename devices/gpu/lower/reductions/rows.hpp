// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisation of rows in one kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/build/builder.hpp>

namespace tenon::inline v1::gpu_device {

enum class RowRule : std::uint8_t { kSoftmax, kLogSoftmax, kNormalize, kMeanSquare };

/// Sets output 0 of the node to the rule's result if rows lie along the last axis and the device shares a row among
/// work-items.
/// @param axes  The axes that a row lies along. @param spread  Makes of a variance, or a mean of squares, v what elements are divided by.
/// @return whether it did.
bool set_rows(Builder& builder, const Node& node, RowRule rule, const ExpressionRef& input,
              const std::vector<std::int64_t>& axes, const std::string& spread = "");

/// The same of a product that is a row divided by the root of its mean square (RMSNorm), of which the reduction and what follows it are
/// nodes before this one.
bool set_mean_square(Builder& builder, const Node& node);

}  // namespace tenon::inline v1::gpu_device
