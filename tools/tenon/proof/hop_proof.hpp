// SPDX-License-Identifier: Apache-2.0
// Alias tests on the hops of a run: does each hop really see the source's bytes?
#pragma once

#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>

#include <tenon/tools/tenon/proof/verdict.hpp>

namespace tenon::tool {

/// Tests with `frame`, to which its source no longer refers; its pixels are overwritten. Never throws: a failure is
/// a verdict. The hop before these is proved by prove_writes_in_place() (source_proof.hpp).
///  - pool to device: the buffer's pages are locked and one inference runs. The test is whether the code of the device's
///    module touches them first, or some copy routine does.
HopProof prove_pool_to_stage(const Frame& frame, CompiledModel& compiled, const std::string& device);
///  - input stage to model: data written into the source's buffer after set_frame() must reach the outputs, and
///    they must equal those of a tensor that the scalar reference of the input stage made from the same pixels.
HopProof prove_stage_to_model(const Frame& frame, CompiledModel& compiled, const Model& model);

}  // namespace tenon::tool
