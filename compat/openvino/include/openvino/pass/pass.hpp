// SPDX-License-Identifier: Apache-2.0
// Changes of models.
#pragma once

#include <memory>

#include "openvino/core/model.hpp"

namespace ov {
namespace pass {

class OPENVINO_API PassBase {
 public:
  virtual ~PassBase();
};
/// A program may derive its own from it.
class OPENVINO_API ModelPass : public PassBase {
 public:
  /// @return Whether it changed the model.
  virtual bool run_on_model(const std::shared_ptr<Model>& model) = 0;
};

}  // namespace pass
}  // namespace ov
