// SPDX-License-Identifier: Apache-2.0
// What is known of an element before there is one, and how one is made.
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

/// One of the four.
using AnyElement = std::variant<std::unique_ptr<Source>, std::unique_ptr<Transform>, std::unique_ptr<TransformInplace>,
                                std::unique_ptr<Sink>>;
enum class Role : std::uint8_t { kSource, kTransform, kTransformInplace, kSink };  ///< As in AnyElement.

/// What streams an element can take; a source: what it gives.
enum class Takes : std::uint8_t { kPictures, kAudio, kBoth };

struct Description {
  std::string name;   ///< In pipelines: "file", "detect".
  std::string about;  ///< One sentence.
  Role role = Role::kTransformInplace;
  std::vector<Parameter> parameters = {};
  /// One instance serves all streams that meet (a model, a file); else each stream has its own (a tracker).
  bool is_shared = false;
  /// It waits, or takes long: it gets a thread and a queue of its own.
  bool has_thread = false;
  Takes takes = Takes::kPictures;
  /// Pixel formats that it takes, the best first; empty: any, or known only when it opens. Hosts negotiate by them.
  std::vector<PixelFormat> formats = {};
  /// Of a shared transform: its streams become one (a mosaic). It emits items of any of its streams.
  bool joins = false;
};

/// @param given  Already checked against the description. @errors what is wrong with them together.
using Factory = std::function<AnyElement(const Parameters& given, const Environment& environment)>;

/// An element as the registry has it, or as a program gives it to one pipeline (NodeSpec::own).
struct KnownElement {
  Description description;
  Factory factory;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
