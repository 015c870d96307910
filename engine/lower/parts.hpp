// SPDX-License-Identifier: Apache-2.0
// Buffers that become parts of others: joins in place, results and variables that a step writes at once.
#pragma once

#include <vector>

#include <tenon/engine/lower/builder.hpp>

namespace tenon::inline v1::engine {

/// Once all is lowered: grants what requests can be, and drops the steps that only copied. A buffer becomes a part of
/// one other at most.
void grant_parts(PlanImpl& plan, const std::vector<PartRequest>& requests);

}  // namespace tenon::inline v1::engine
