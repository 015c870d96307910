// SPDX-License-Identifier: Apache-2.0
// DL Streamer's element names in GStreamer: the table of their properties, and what each name does here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gst/gst.h>

#include <tenon/bindings/gstreamer/properties.hpp>
#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {

/// A property as docs/reference/dlstreamer_elements.toml has it.
struct Property {
  enum class Effect : std::uint8_t { kHas, kNone, kRefused };
  elements::Parameter parameter;
  Shown shown;
  Effect effect = Effect::kHas;
  std::string why;  ///< Why it has no effect, or is refused.
};
struct Documented {
  std::string name, about;
  std::vector<Property> properties;
};
/// All elements of the table that are there. @thread any.
const std::vector<Documented>& documented();

/// The kinds with the properties of the table. Those over elements that the registry lacks are left out.
std::vector<Kind> kinds();

/// The options "KEY=VALUE,KEY=VALUE" of a property. @param owner  For messages. @errors kInvalidArgument: no =
std::vector<std::pair<std::string, std::string>> options_of(const std::string& text, const std::string& owner);
/// The parts between separators, without empty ones.
std::vector<std::string> parts_of(const std::string& text, char separator);
/// @errors kInvalidArgument: neither true nor false (also 1 and 0, yes and no).
bool flag_of(const std::string& value, const std::string& what);
/// @errors kInvalidArgument: no number within the bounds.
double number_of(const std::string& value, const std::string& what, double least, double most);

/// @name Elements that the registry does not have. @{
elements::AnyElement make_watermark(const Texts& given, const elements::Environment& environment);
elements::AnyElement make_regions(const Texts& given, const elements::Environment& environment);
elements::AnyElement make_analytics(const Texts& given, const elements::Environment& environment);
/// @}

/// The files of gvametapublish.
elements::ElementFiles files_of_meta_publish(const Texts& given);

/// @name GTypes of elements that work on buffers of any caps. @{
GType meta_convert_type(Kind& kind);
GType meta_publish_type(Kind& kind);
GType fps_counter_type(Kind& kind);
/// @}

/// Adds `text` as a GstGVAJSONMeta, which DL Streamer's programs read, too. @pre the buffer is writable.
void add_message(GstBuffer* buffer, const std::string& text);
/// The texts of the GstGVAJSONMetas of the buffer, in their order.
std::vector<std::string> messages_of(GstBuffer* buffer);

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
