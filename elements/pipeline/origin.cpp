// SPDX-License-Identifier: Apache-2.0
// Asks elements whether they want the origin of frames, and adds it.
#include <tenon/elements/internal/origin.hpp>

#include <chrono>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

bool origin_is_wanted(const Node& source, std::uint32_t stream) {
  return walk_downstream(source, stream, [](const Node& node, std::uint32_t number) {
    const bool wants = std::visit([](const auto& one) { return one->wants_origin(); }, node.lane_of(number).element);
    return wants ? Walk::kFound : Walk::kGoOn;
  });
}

bool branches_meet_behind(const Node& source, std::uint32_t stream) {
  return walk_downstream(
      source, stream, [](const Node& node, std::uint32_t) { return node.branches() > 1 ? Walk::kFound : Walk::kGoOn; });
}

void add_origin(Message& frame, const std::string& source, std::uint64_t number) {
  const auto known = frame.audio ? frame.audio.find_metadata() : metadata::find(frame.frame);
  const auto made = known ? known->copy() : std::make_shared<metadata::Collection>();
  if (!made->first<metadata::Source>()) made->add(metadata::Source{source, frame.stream, number});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  made->add(metadata::ReferenceTime{"unix", std::chrono::nanoseconds(now).count()});
  if (frame.audio)
    frame.audio.set_metadata(made);
  else
    metadata::set(frame.frame, made);
}

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
