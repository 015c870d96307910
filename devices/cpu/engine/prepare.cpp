// SPDX-License-Identifier: Apache-2.0
// The passes that a model goes through before lowering.
#include <tenon/devices/cpu/engine/lowering.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {

std::shared_ptr<const Model> prepare_model(const Model& model, const Options& options) {
  const auto mine = model.clone();
  if (!options.fuse || options.reference_only) return mine;
  pass::Manager first;
  first.add(pass::widen_reals()).add(pass::fuse_quantize_dequantize()).run(mine);
  // Weights are packed in the type that is computed in: keeping them compressed would only delay the conversion.
  pass::common_passes({.keep_decompression = false, .keep_dequantization = true})
      .add(pass::fold_input_stage())
      .run(mine);
  return mine;
}

}  // namespace tenon::inline v1::engine
