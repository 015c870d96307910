// SPDX-License-Identifier: Apache-2.0
// What a pipeline keeps of its streams, and of sources that are added while it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <tenon/elements/internal/lane.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

struct StreamState {
  std::atomic<bool> is_lost{false};
  /// An element lost it. After the failure of a source, the frames that it gave before are still worked on.
  std::atomic<bool> is_cut{false};
  /// A joined stream is lost for good, or no node needs the stream's frames any more.
  std::atomic<bool> is_over{false};
  std::atomic<bool> is_removed{false};
  bool is_open = false, has_ended = false;  ///< The source is. @thread under the pipeline's lock.
  void reset() {
    is_lost = is_cut = is_over = is_removed = false;
    is_open = has_ended = false;
  }
};

/// A place for a source that is added. @thread under the pipeline's lock; `node` also by the threads of its stream.
struct AddedSource {
  std::unique_ptr<PipelinePlan::Node> plan;  ///< Set while the place is taken.
  Node node;
  std::uint32_t stream = 0;
  bool has_begun = false;
  std::size_t open_ends = 0;  ///< Lanes that have not seen the stream's end, and the source's thread.
  /// The nodes on its way that are not shared, with their new lanes until these are in their places.
  std::vector<std::pair<Node*, std::unique_ptr<Lane>>> lanes;
  std::vector<Node*> shared;
  bool is_taken() const { return plan != nullptr; }
  bool has_ended() const { return has_begun && open_ends == 0; }
  void reset() {
    lanes.clear();
    shared.clear();
    node = {};
    plan.reset();
    has_begun = false;
    open_ends = 0;
  }
};

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
