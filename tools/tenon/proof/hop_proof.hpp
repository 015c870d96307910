// SPDX-License-Identifier: Apache-2.0
// Alias tests on the hops of a run: does each hop really see the decoder's bytes?
#pragma once

#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>

namespace tenon::tool {

struct HopProof {
  Proof proof = Proof::kRefused;
  std::string how;  ///< What was done and observed, or why it could not be done.
};

/// Tests with `frame`, to which the decoder no longer refers; its pixels are overwritten. Never throws: a failure is
/// a verdict.
///  - decoder to pool: a pattern written through AVFrame.data is read through a second mapping of the pool's
///    descriptor, and the other way round, every byte of every plane.
HopProof prove_decoder_to_pool(const Frame& frame);
///  - pool to device: the buffer's pages are locked and one inference runs. Who touches them first: the code of the
///    device's module, or some copy routine?
HopProof prove_pool_to_stage(const Frame& frame, CompiledModel& compiled, const std::string& device);
///  - input stage to model: data written into the decoder's buffer after set_frame() must reach the outputs, and
///    they must equal those of a tensor that the scalar reference of the input stage made from the same pixels.
HopProof prove_stage_to_model(const Frame& frame, CompiledModel& compiled, const Model& model);

}  // namespace tenon::tool
