// SPDX-License-Identifier: Apache-2.0
// The passes that a model goes through before lowering.
#include <tenon/engine/lower/passes.hpp>

#include <tenon/engine/lower/build/precise.hpp>
#include <tenon/graph/passes/original_names.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {

namespace {

void run_fusions(const Model& model, const std::shared_ptr<Model>& mine, const TimeLimit& time) {
  const auto check_time = [&] { time.check("compiling", model.get_friendly_name(), limit_property::kCompileSeconds); };
  const auto check = [&](const Model&, const std::string&, bool) { check_time(); };
  pass::Manager first;
  first.set_hook(check);
  first.add(pass::widen_reals()).add(pass::fuse_quantize_dequantize()).run(mine);
  // Weights are packed in the type of the computation: keeping them compressed would only delay the conversion.
  pass::Manager common =
      pass::common_passes({.keep_decompression = false, .keep_dequantization = true, .check = check_time});
  common.add(pass::fold_input_stage());
  common.set_hook(check);
  common.run(mine);
  pass::note_original_nodes(model, *mine);
}

}  // namespace

std::shared_ptr<const Model> run_passes(const Model& model, const Options& options, const TimeLimit& time) {
  const auto mine = model.clone();
  if (options.fuse && !options.reference_only) run_fusions(model, mine, time);
  if (options.precision != ElementType::kF32) mark_deciding_nodes(*mine);
  return mine;
}

}  // namespace tenon::inline v1::engine
