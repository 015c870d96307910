// SPDX-License-Identifier: Apache-2.0
// The passes that a model goes through before lowering.
#include <tenon/devices/cpu/engine/lowering.hpp>

namespace tenon::inline v1::engine {

std::shared_ptr<const Model> prepare_model(const Model& model, const Options&) { return model.clone(); }

}  // namespace tenon::inline v1::engine
