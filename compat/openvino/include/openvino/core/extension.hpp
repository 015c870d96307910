// SPDX-License-Identifier: Apache-2.0
// Extensions: what a program adds to a Core or a front end. Tenon takes none of them; openvino/core/op_extension.hpp says why.
#pragma once

#include <memory>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/rtti.hpp"

#define OV_CREATE_EXTENSION create_extensions

namespace ov {
class OPENVINO_API Extension {
 public:
  OPENVINO_RTTI_BASE("Extension")
  using Ptr = std::shared_ptr<Extension>;
  virtual ~Extension();
};
}  // namespace ov

OPENVINO_EXTENSION_C_API void OV_CREATE_EXTENSION(std::vector<ov::Extension::Ptr>& ext);
/// The function of a library of extensions.
#define OPENVINO_CREATE_EXTENSIONS(extensions) \
  OPENVINO_EXTENSION_C_API void OV_CREATE_EXTENSION(std::vector<ov::Extension::Ptr>& ext) { ext = extensions; }
