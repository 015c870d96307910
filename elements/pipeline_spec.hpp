// SPDX-License-Identifier: Apache-2.0
// A pipeline as data: which elements, told what, fed by whom. Written by programs or read from a file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/queue.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

struct NodeSpec {
  std::string element;    ///< As known_elements() names it.
  std::string name = {};  ///< Unique; empty: the element's name, numbered if there are several.
  std::map<std::string, std::string> parameters = {};
  /// Names of the nodes that it gets frames from; empty: the node before it, unless it is a source.
  std::vector<std::string> from = {};
  std::optional<QueueOptions> queue = {};  ///< Before it; with one it has a thread of its own.
  /// An element of this program alone, which the registry does not know; `element` is then only its name.
  std::shared_ptr<const KnownElement> own = {};
};

/// What is known of the node's element. Valid as long as the spec. @errors as find_element()
TENON_API const Description& description_of(const NodeSpec& node);

/// What happens when a stream fails, in its source or in an element.
enum class OnError : std::uint8_t {
  kStop,  ///< The pipeline stops; what is in flight is finished.
  kEnd,   ///< The stream ends; the others go on. Sources that then feed nothing end, too.
  /// Its source is opened again, `restarts` times at most; then the stream ends. Of streams that an element joined, the
  /// joined one ends and begins again after that element.
  kRestart,
};

struct PipelineSpec {
  std::vector<NodeSpec> nodes;
  OnError on_error = OnError::kStop;
  std::uint32_t restarts = 3;
  /// Before the first restart of a stream; twice as long before each further one, until it is a minute.
  std::chrono::milliseconds restart_delay{500};
  /// A stream that gave frames for so long since it began has all its restarts again. Not in files.
  std::chrono::milliseconds restart_reset{60'000};
  /// How long a source may take to open, and a live one may be silent.
  std::chrono::milliseconds patience{10'000};
  /// Of each stream at most, restarts counted; 0: all. Not in files: who runs one decides.
  std::uint64_t frames = 0;
};

/// A spec whose names, roles and joints are right. Nodes are in an order in which each stands behind those that feed it.
struct PipelinePlan {
  struct Node {
    NodeSpec spec;                ///< With its name, and all of `from`.
    std::vector<std::size_t> to;  ///< Nodes that it feeds.
    /// That come to it: numbers of sources, in the order of the spec, or of elements that join streams.
    std::vector<std::uint32_t> streams;
    std::vector<std::uint32_t> gives;  ///< That leave it: the same, or the one that it joins them to.
    std::size_t writers = 0;           ///< Threads that call it, if it has none of its own.
    bool has_thread = false;
  };
  std::vector<Node> nodes;
  std::size_t streams = 0;  ///< Of sources; joined ones have the numbers behind theirs.
  std::size_t joined = 0;
};

/// @errors kNotFound: an element or a node that is not there (the nearest name is proposed); kInvalidArgument: two nodes of
/// one name, a cycle (named), a source that is fed, a sink that feeds, what leads nowhere, a stream that reaches a node by
/// two ways, no source, a queue of size 0.
TENON_API PipelinePlan plan_pipeline(const PipelineSpec& spec);

/// From JSON: {"on_error": "stop" | "end" | "restart", "restarts": 3, "restart_delay_ms": 500, "patience_ms": 10000, "nodes":
/// [{"element": ..., "name": ..., "parameters": {...}, "from": name or list, "queue": {"size": 4, "when_full": "block" |
/// "drop_oldest" | "drop_newest"}}, ...]}. Only nodes with elements must be there; comments are allowed.
/// @errors kInvalidArgument: what is wrong, with its line or its path in the document.
TENON_API PipelineSpec parse_pipeline(std::string_view json);

/// As a graph for Graphviz.
TENON_API std::string to_dot(const PipelinePlan& plan);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
