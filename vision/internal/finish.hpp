// SPDX-License-Identifier: Apache-2.0
// What is the same for all decoders of objects: damage is dropped, the best are kept, boxes get their place in the frame.
#pragma once

#include <span>
#include <vector>

#include <tenon/vision/decoder_types.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// The objects of one picture, best first, boxes in pixels of the input; those outside of the picture do not count.
/// @return Whether options.top_k left out objects. @errors kInvalidArgument: scores that are no probabilities
bool find_objects(ObjectDecoder& decoder, const DecodeOptions& options, std::span<const Tensor> outputs,
                  std::vector<Candidate>& found);
/// Its box in the frame, clipped; the whole frame for a class.
Box place_of(const ObjectDecoder& decoder, const DecodeOptions& options, const Candidate& candidate);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
