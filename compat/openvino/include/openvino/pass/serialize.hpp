// SPDX-License-Identifier: Apache-2.0
// Writes a model as an IR.
#pragma once

#include <filesystem>
#include <utility>

#include "openvino/core/graph_util.hpp"
#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

class Serialize : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ov::pass::Serialize")
  explicit Serialize(std::filesystem::path xml_path, std::filesystem::path bin_path = {})
      : xml_path_(std::move(xml_path)), bin_path_(std::move(bin_path)) {}
  bool run_on_model(const std::shared_ptr<Model>& model) override {
    serialize(model, xml_path_, bin_path_);
    return false;
  }

 private:
  std::filesystem::path xml_path_, bin_path_;
};

}  // namespace pass
}  // namespace ov
