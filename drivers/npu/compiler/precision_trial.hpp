// SPDX-License-Identifier: Apache-2.0
// Whether a model may be computed in bf16 where the client left the precision open: tried, not guessed.
#pragma once

#include <memory>

#include <tenon/engine/engine.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::npu::compiler {

/// Worth a trial: bf16 gains time on this CPU, and the model is large enough for it to matter.
bool is_worth_trying(const Model& model);

/// Runs both plans on the same made-up inputs. @return true when all outputs are so close that what clients are
/// promised (cosine 0.9999, 2 % of the range) holds with a margin for other inputs.
bool agree_in_bf16(const std::shared_ptr<const engine::Plan>& exact, const std::shared_ptr<const engine::Plan>& rounded,
                   engine::Workers& workers);

}  // namespace tenon::npu::compiler
