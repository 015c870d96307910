// SPDX-License-Identifier: Apache-2.0
// Elements, and their descriptions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlstreamer/context.h"
#include "dlstreamer/dictionary.h"
#include "dlstreamer/frame_info.h"

namespace dlstreamer {

class Element {
 public:
  virtual ~Element() = default;
  /// After the information about input and output was set, and before the first frame. False: it cannot work.
  virtual bool init() = 0;
  /// A context of the element's, for others to map to; null where it has none of this type.
  virtual ContextPtr get_context(MemoryType memory_type) noexcept = 0;
};
using ElementPtr = std::shared_ptr<Element>;

namespace param {
static constexpr auto logger_name = "logger_name";
}  // namespace param

/// A parameter: its default says its type. The range has the smallest and the largest number, or all values.
struct ParamDesc {
  std::string name;
  std::string description;
  Any default_value;
  std::vector<Any> range;

  ParamDesc(std::string_view _name, std::string_view desc, Any _default_value, std::vector<Any> valid_values = {})
      : name(_name), description(desc), default_value(std::move(_default_value)), range(std::move(valid_values)) {}
  ParamDesc(std::string_view _name, std::string_view desc, const Any& _default_value, const Any& min_value,
            const Any& max_value)
      : ParamDesc(_name, desc, _default_value, {min_value, max_value}) {}
  ParamDesc(std::string_view _name, std::string_view desc, const char* _default_value,
            std::vector<std::string> valid_values = {})
      : ParamDesc(_name, desc, std::string(_default_value),
                  std::vector<Any>(valid_values.begin(), valid_values.end())) {}

  template <typename T>
  bool is_type() const {
    return any_holds_type<T>(default_value);
  }
};
using ParamDescVector = std::vector<ParamDesc>;

enum ElementFlags {
  ELEMENT_FLAG_EXTERNAL_MEMORY = 1 << 0,  ///< Does not allocate what it writes.
  ELEMENT_FLAG_SHARABLE = 1 << 1,         ///< One instance may serve several streams.
};

/// "9BR4" as a number: a description begins with it.
static constexpr int32_t ElementDescMagic = 0x34495239;

#define MAKE_FRAME_INFO_VECTOR(...)                             \
  []() -> const dlstreamer::FrameInfoVector& {                  \
    static const dlstreamer::FrameInfoVector info{__VA_ARGS__}; \
    return info;                                                \
  }

struct ElementDesc {
  int32_t magic = ElementDescMagic;
  std::string_view name;
  std::string_view description;
  std::string_view author;
  const ParamDescVector* params = nullptr;
  std::function<const FrameInfoVector&()> input_info;
  std::function<const FrameInfoVector&()> output_info;
  std::function<Element*(DictionaryCPtr params, const ContextPtr& app_context)> create;
  int flags = 0;
};

/// For ElementDesc::create.
template <class Ty>
Element* create_element(DictionaryCPtr params, const ContextPtr& app_context) {
  return new Ty(std::move(params), app_context);
}

}  // namespace dlstreamer

#define DLS_EXPORT __attribute__((visibility("default")))

extern "C" {
/// The elements of a plugin, and null behind the last.
extern DLS_EXPORT const dlstreamer::ElementDesc* dlstreamer_elements[];
}
