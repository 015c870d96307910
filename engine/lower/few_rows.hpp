// SPDX-License-Identifier: Apache-2.0
// Products of a few rows with computed matrices, by a kernel of ours.
#pragma once

#include <tenon/engine/lower/builder.hpp>
#include <tenon/engine/lower/chain.hpp>  // IWYU pragma: export

namespace tenon::inline v1::engine {

/// With factors and one sum after it, as scores of attention have them. @return false: oneDNN is better, or the only
/// one that can.
bool lower_few_rows(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
