// SPDX-License-Identifier: Apache-2.0
// The alias tests of a run's hops.
#include <tenon/tools/tenon/proof/hop_proof.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <fmt/core.h>

#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/input_stage/spec.hpp>

#include <tenon/tools/tenon/proof/page_guard.hpp>
#include <tenon/tools/tenon/proof/second_view.hpp>

namespace tenon::tool {
namespace {

/// All values of the outputs and the states: a model's states may be the first to depend on a picture.
std::vector<float> outputs_of(InferRequest& request, CompiledModel& compiled) {
  std::vector<float> all;
  const auto add = [&](const Tensor& tensor) {
    if (tensor.element_type() != ElementType::kF32 || !tensor.is_contiguous()) return;
    const auto* values = static_cast<const float*>(tensor.data());
    all.insert(all.end(), values, values + tensor.element_count());
  };
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) add(request.get_output_tensor(i));
  for (VariableState& state : request.query_state()) add(state.get_state());
  return all;
}

/// Largest difference relative to the largest value.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(b[i])));
    difference = std::max(difference, static_cast<double>(std::abs(a[i] - b[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

/// Whether the code belongs to a device: to its module, to a Level Zero driver that computes for it, or to one of its kernels.
bool is_device_code(const std::string& reader) {
  return reader.find("libtenon_device_") != std::string::npos || reader.find("libze_") != std::string::npos ||
         reader.starts_with(PageGuard::kKernel);
}

/// The outputs for the pixels in `frame`, by the reference kernel into a tensor of its own.
std::vector<float> expected_outputs(const Frame& frame, CompiledModel& compiled, const InputStageSpec& spec) {
  const auto views = plane_views(spec, frame.planes());
  const Tensor written(spec.type, spec.target_shape());
  run_input_stage_reference(spec, std::span(views).first(spec.input_count()), written.data());
  // The extents are the stage's, since those of the model may be open.
  Shape shape = spec.target_shape();
  const std::size_t row = spec.planar ? 2 : 1;
  if (spec.transposed) std::swap(shape[row], shape[row + 1]);
  const Tensor input(spec.type, shape);
  ByteStrides strides = input.byte_strides();
  if (spec.transposed) std::swap(strides[row], strides[row + 1]);
  copy_strided(spec.type, spec.target_shape(), written.data(), written.byte_strides(), input.data(), strides);
  const PartialShape& own = compiled.input().get_partial_shape();
  if (own.rank().is_static() && own.size() + 1 == shape.size()) shape.erase(shape.begin());  // It has no batch.
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(Tensor(spec.type, shape, input.data()));
  request.infer();
  return outputs_of(request, compiled);
}

}  // namespace

HopProof prove_pool_to_stage(const Frame& frame, CompiledModel& compiled, const std::string& device) {
  return guarded([&]() -> HopProof {
    const Memory& memory = *frame.plane(0).memory();
    if (memory.borrow_fd() < 0 || !PageGuard::supported())
      return {Proof::kClaimed, "the buffer's pages cannot be locked here"};
    InferRequest request = compiled.create_infer_request();
    request.set_frame(frame);
    request.infer();  // A warm-up, which does the work that is done only once.
    PageGuard guard(PageGuard::mappings_of(memory));
    request.infer();
    const PageGuard::Findings found = guard.release();
    if (found.pages == 0)
      return {Proof::kCopies, "nothing read the source's buffer during an inference: it works on a copy"};
    for (const std::string& reader : found.readers) {
      if (reader == PageGuard::kGenerated)
        return {Proof::kClaimed, "read by code that a runtime generated: a kernel, or the runtime's own copy"};
      if (!is_device_code(reader)) {
        return {Proof::kCopies, "the source's buffer was read by " + reader + ", not by the module of " + device};
      }
    }
    return {Proof::kProved,
            fmt::format("pages locked during an inference: all {} that were read were read by {}, in place",
                        found.pages, found.readers.empty() ? "" : found.readers.front())};
  });
}

HopProof prove_stage_to_model(const Frame& frame, CompiledModel& compiled, const Model& model) {
  return guarded([&]() -> HopProof {
    const InputStageSpec spec = make_spec(options_from(model, frame.info()));
    const SecondView source(frame);
    InferRequest request = compiled.create_infer_request();
    request.set_frame(frame);
    std::vector<float> seen[2];
    double worst = 0;
    for (unsigned round = 0; round < 2; ++round) {
      // The pattern is written after set_frame(), since a copy that set_frame() made would not have these bytes.
      write_pattern(frame.info(), source.rows(), 10 + round);
      request.reset_state();  // As for the reference, which starts from the initial state each time.
      request.infer();
      seen[round] = outputs_of(request, compiled);
      worst = std::max(worst, distance(seen[round], expected_outputs(frame, compiled, spec)));
    }
    if (seen[0].empty()) return {Proof::kClaimed, "the model has no f32 output to compare"};
    const double change = distance(seen[0], seen[1]);
    if (change == 0) return {Proof::kCopies, "the outputs did not change with the source's buffer"};
    if (worst > 0.02 || worst * 4 > change) {
      return {Proof::kCopies,
              fmt::format("outputs differ from the reference by {:.2g} of their range; two patterns differ by {:.2g}",
                          worst, change)};
    }
    return {Proof::kProved,
            fmt::format(
                "two patterns written into the source's buffer after set_frame() reach the outputs as the reference "
                "says (difference {:.1g} of the range)",
                worst)};
  });
}

}  // namespace tenon::tool
