// SPDX-License-Identifier: Apache-2.0
// Descriptions of elements: what tools and pipelines know of an element before it is made, and the factory that makes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// An element of any of the four roles.
using AnyElement = std::variant<std::unique_ptr<Source>, std::unique_ptr<Transform>, std::unique_ptr<TransformInplace>,
                                std::unique_ptr<Sink>>;
enum class Role : std::uint8_t { kSource, kTransform, kTransformInplace, kSink };  ///< In the order of AnyElement.

/// The files that an element with given parameters reads and writes, as far as they are known before it is made. Files that do not
/// exist may be left out.
struct ElementFiles {
  std::vector<std::string> read = {}, written = {};
  bool appends = false;  ///< It appends lines to those that it writes, so that other elements may do so, too.
};
using FilesOf = std::function<ElementFiles(const Parameters& given, const Environment& environment)>;

/// Which kinds of streams an element takes; for a source: which kind it gives.
enum class Takes : std::uint8_t { kPictures, kAudio, kBoth };

struct Description {
  std::string name;   ///< The name by which pipelines refer to it: "file", "detect".
  std::string about;  ///< What it does, in one sentence without a full stop.
  Role role = Role::kTransformInplace;
  std::vector<Parameter> parameters = {};
  /// One instance serves all streams of the node (a model, a file); otherwise each stream has its own (a tracker).
  bool is_shared = false;
  /// The element waits or takes long, and so gets a thread and a queue of its own.
  bool has_thread = false;
  Takes takes = Takes::kPictures;
  /// The pixel formats that it takes, the best first; empty: any, or not known before it opens. Hosts such as GStreamer
  /// negotiate with them.
  std::vector<PixelFormat> formats = {};
  /// For a shared transform: it joins its streams into one (a mosaic). Items that it emits may name any of its streams.
  bool joins = false;
  /// For a transform that is not shared: it joins the branches of a stream, which come on several paths, into one (Item::branch). It has
  /// a thread. It opens with the first branch, and what others bring before waits.
  bool joins_branches = false;
  /// For a sink that is a PacketSink.
  bool takes_packets = false;
  /// Null: it reads and writes none. A pipeline refuses to write over what it reads.
  FilesOf files = {};
};

/// Makes an element. @param given  Parameters that were checked against the description one by one.
/// @errors kInvalidArgument, say: parameters that contradict each other.
using Factory = std::function<AnyElement(const Parameters& given, const Environment& environment)>;

/// An element in the registry, or one that a program gives to a single pipeline (NodeSpec::own).
struct KnownElement {
  Description description;
  Factory factory;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
