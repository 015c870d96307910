// SPDX-License-Identifier: Apache-2.0
// Writes a model as an IR.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <utility>

#include "openvino/core/graph_util.hpp"
#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

/// To two files, or to two streams that live until it has run.
class OPENVINO_API Serialize : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ov::pass::Serialize")
  /// Files are of the newest version. @errors Exception: another one is asked for.
  enum class Version : std::uint8_t { UNSPECIFIED = 0, IR_V10 = 10, IR_V11 = 11 };
  explicit Serialize(std::filesystem::path xml_path, std::filesystem::path bin_path = {},
                     Version version = Version::UNSPECIFIED);
  Serialize(std::ostream& xml_file, std::ostream& bin_file, Version version = Version::UNSPECIFIED);
  bool run_on_model(const std::shared_ptr<Model>& model) override;

 private:
  std::filesystem::path xml_path_, bin_path_;
  std::ostream* xml_ = nullptr;
  std::ostream* bin_ = nullptr;
};

}  // namespace pass
}  // namespace ov
