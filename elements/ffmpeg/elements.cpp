// SPDX-License-Identifier: Apache-2.0
// The list of the elements of this module.
#include <tenon/elements/ffmpeg/elements.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {

std::vector<KnownElement> elements() { return {file_source(), sound_source(), file_sink(), stream_sink(), convert()}; }

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
