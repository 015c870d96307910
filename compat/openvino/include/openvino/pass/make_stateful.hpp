// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs become states.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

/// Each pair of an input and an output becomes a state, which begins with zeros: it is read where the input was, and written with the output.
class OPENVINO_API MakeStateful : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("MakeStateful")
  using ParamResPairs = std::vector<std::pair<std::shared_ptr<op::v0::Parameter>, std::shared_ptr<op::v0::Result>>>;
  explicit MakeStateful(const ParamResPairs& pairs_to_replace) : pairs_(pairs_to_replace) {}
  /// Friendly names, or names of tensors.
  explicit MakeStateful(const std::map<std::string, std::string>& param_res_names) : names_(param_res_names) {}
  /// @errors Exception: no such input or output, or one that is in two pairs.
  bool run_on_model(const std::shared_ptr<Model>& model) override;

 private:
  ParamResPairs pairs_;
  std::map<std::string, std::string> names_;
};

}  // namespace pass
}  // namespace ov
