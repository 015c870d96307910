// SPDX-License-Identifier: Apache-2.0
// Decides by a trial whether a model may compute in bf16 when the client left the precision open.
#pragma once

#include <memory>

#include <tenon/engine/engine.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::npu::compiler {

/// Whether a trial pays: bf16 is faster on this CPU, and the model is large enough.
bool is_worth_trying(const Model& model);

/// Runs both plans on the same made-up inputs. @return true if all outputs are within the promised accuracy (cosine
/// 0.9999, 2 % of the range), with a margin for other inputs.
bool agree_in_bf16(const std::shared_ptr<const engine::Plan>& exact, const std::shared_ptr<const engine::Plan>& rounded,
                   engine::Workers& workers);

}  // namespace tenon::npu::compiler
