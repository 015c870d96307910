// SPDX-License-Identifier: Apache-2.0
// Buffers that become parts of others: joins in place, and results and variables that a step writes directly.
#pragma once

#include <vector>

#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/plan/plan.hpp>

namespace tenon::inline v1::engine {

/// Once all is lowered: grants the requests that can be granted, and drops the steps that only copied. A buffer becomes
/// a part of one other at most.
void grant_parts(PlanImpl& plan, const std::vector<PartRequest>& requests);

}  // namespace tenon::inline v1::engine
