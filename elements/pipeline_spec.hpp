// SPDX-License-Identifier: Apache-2.0
// A pipeline as data: its elements, their parameters and how they are connected. Programs write it, or read it from a file.
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
#include <tenon/core/used_files.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/queue.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// One node of a pipeline.
struct NodeSpec {
  std::string element;    ///< Its name in known_elements().
  std::string name = {};  ///< Unique in the pipeline; empty: the element's name, numbered if there are several.
  std::map<std::string, std::string> parameters = {};
  /// Names of the nodes that it gets frames from; empty: the node before it, unless it is a source.
  std::vector<std::string> from = {};
  std::optional<QueueOptions> queue =
      {};  ///< The queue before the node; with a queue the node has a thread of its own.
  /// An element that the program brings itself and that the registry does not know; `element` is then only its name.
  std::shared_ptr<const KnownElement> own = {};
};

/// The description of the node's element. Valid as long as the spec. @errors as find_element()
TENON_API const Description& description_of(const NodeSpec& node);

/// What happens when a stream fails, in its source or in an element.
enum class OnError : std::uint8_t {
  kStop,  ///< The pipeline stops; frames in flight are finished.
  kEnd,   ///< The stream ends; other streams go on. Sources that then feed nothing end, too.
  /// The stream's source is opened again, at most `restarts` times; then the stream ends. If an element joined streams, the
  /// joined stream ends and begins again at that element.
  kRestart,
};

struct PipelineSpec {
  std::vector<NodeSpec> nodes;
  OnError on_error = OnError::kStop;
  std::uint32_t restarts = 3;
  /// The delay before the first restart of a stream. It doubles before each further restart, up to a minute.
  std::chrono::milliseconds restart_delay{500};
  /// A stream that has given frames for this long since it began has all its restarts again. Files cannot set it.
  std::chrono::milliseconds restart_reset{60'000};
  /// How long a source may take to open, and how long it may go without a frame.
  std::chrono::milliseconds patience{10'000};
  /// The maximum number of frames of each stream, over all its restarts; 0: no limit. Files cannot set it: the program that runs
  /// the pipeline decides.
  std::uint64_t frames = 0;
  /// How many sources that are added while the pipeline runs may be there at a time. With one or more the pipeline does not end by
  /// itself, but by stop().
  std::uint32_t more_sources = 0;
  static constexpr std::uint32_t kMostMoreSources = 4096;
  /// Files that the program reads and writes itself: a pipeline adds its own, and refuses those that clash. Null: none.
  std::shared_ptr<UsedFiles> files = {};
};

/// A checked spec: names, roles and connections are valid. Each node stands behind the nodes that feed it.
struct PipelinePlan {
  struct Node {
    NodeSpec spec;                ///< With its name and `from` filled in.
    std::vector<std::size_t> to;  ///< Nodes that it feeds.
    /// The streams that come to the node: numbers of sources, in the order of the spec, or of elements that join streams.
    std::vector<std::uint32_t> streams;
    std::vector<std::uint32_t> gives;  ///< The streams that leave it: the same ones, or the one that it joins them to.
    std::size_t writers = 0;           ///< The number of threads that call it, if it has none of its own.
    bool has_thread = false;
  };
  std::vector<Node> nodes;
  std::size_t streams = 0;  ///< The number of sources. Joined streams have the numbers after them.
  std::size_t joined = 0;
};

/// Checks a spec and sorts its nodes.
/// @errors kNotFound: an element or a node that does not exist (the message proposes the nearest name); kInvalidArgument: two
/// nodes of one name, a cycle (the message names it), a source that is fed, a sink that feeds a node, a node other than a sink
/// that feeds nothing, a stream that reaches a node on two paths (but one that joins branches), no source, a queue of size 0.
TENON_API PipelinePlan plan_pipeline(const PipelineSpec& spec);

/// Adds the files that the elements of the plan read and write, as far as they are known before the elements are made.
/// @errors kInvalidArgument: an element would write over a file that is read, or that another one writes; as check_element()
TENON_API void add_files(UsedFiles& files, const PipelinePlan& plan);

/// Parses a pipeline from JSON: {"on_error": "stop" | "end" | "restart", "restarts": 3, "restart_delay_ms": 500, "patience_ms":
/// 10000, "nodes":
/// [{"element": ..., "name": ..., "parameters": {...}, "from": name or list, "queue": {"size": 4, "when_full": "block" |
/// "drop_oldest" | "drop_newest"}}, ...]}. Only "nodes" and the "element" of each node are required; comments are allowed. "more_sources": 16 lets sources be added.
/// @errors kInvalidArgument: the message says what is wrong, with its line or its path in the document.
TENON_API PipelineSpec parse_pipeline(std::string_view json);

/// A source for Pipeline::add_source().
struct SourceRequest {
  NodeSpec node;
  std::string like = {};
};
/// Parses a source from JSON: {"element": "file", "name": "gate", "parameters": {"path": "rtsp://..."}, "like": "camera"}; "like" may be
/// absent. @errors as parse_pipeline()
TENON_API SourceRequest parse_source(std::string_view json);

/// Writes the plan as a graph for Graphviz.
TENON_API std::string to_dot(const PipelinePlan& plan);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
