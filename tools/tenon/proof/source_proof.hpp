// SPDX-License-Identifier: Apache-2.0
// The alias test of a run's first hop: does its source write frames where they are then read?
#pragma once

#include <tenon/core/frame.hpp>

#include <tenon/tools/tenon/proof/verdict.hpp>
#include <tenon/tools/tenon/shared/frame_source.hpp>

namespace tenon::tool {

/// Tests that `last`, the last frame of `source`, lies where the source writes its pixels, and closes the source, so that only the
/// caller refers to the frame. Throws nothing: a failure is a verdict.
HopProof prove_writes_in_place(FrameSource& source, const Frame& last);

}  // namespace tenon::tool
