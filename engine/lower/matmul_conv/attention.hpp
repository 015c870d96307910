// SPDX-License-Identifier: Apache-2.0
// Lowers attention to one step.
#pragma once

#include <tenon/engine/lower/build/builder.hpp>

namespace tenon::inline v1::engine {

/// Lowers what match_attention() finds at the chain's last node. @return false if that is nothing.
bool lower_attention(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
