// SPDX-License-Identifier: Apache-2.0
// The defaults of elements: no requirements, and an error from members that the element does not implement.
#include <tenon/elements/element.hpp>

#include <string>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

namespace {

[[noreturn]] void miss(const char* member) {
  throw Error(Code::kInternal, "an element lacks " + std::string(member) + "(), which its description or stream needs");
}

}  // namespace

Requirements Element::wanted(const StreamInfo&) const { return {}; }
Context Element::used_in(const StreamInfo&) const { return {}; }
std::optional<Frame> Source::read(Deadline) { miss("read"); }
std::optional<AudioFrame> Source::read_audio(Deadline) { miss("read_audio"); }
void TransformInplace::process_audio(std::uint32_t, AudioFrame&) { miss("process_audio"); }
void Sink::write_audio(std::uint32_t, const AudioFrame&) { miss("write_audio"); }

}  // namespace elements
}  // namespace v1
}  // namespace tenon
