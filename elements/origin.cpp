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
  std::vector<std::pair<const Node*, std::uint32_t>> open{{&source, stream}};
  while (!open.empty()) {
    const auto [node, number] = open.back();
    open.pop_back();
    if (std::visit([](const auto& one) { return one->wants_origin(); }, node->lane_of(number).element)) return true;
    for (const Node* next : node->to) open.emplace_back(next, node->gives(number));
  }
  return false;
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
