// SPDX-License-Identifier: Apache-2.0
// The passes that a model goes through before lowering.
#include <tenon/devices/cpu/engine/lowering.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {

std::shared_ptr<const Model> prepare_model(const Model& model, const Options& options) {
  const auto mine = model.clone();
  // Weights are packed in f32: keeping them compressed would only delay the conversion.
  if (options.fuse && !options.reference_only)
    pass::common_passes({.keep_decompression = false}).add(pass::fold_input_stage()).run(mine);
  return mine;
}

}  // namespace tenon::inline v1::engine
