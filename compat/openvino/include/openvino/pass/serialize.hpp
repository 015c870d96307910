// SPDX-License-Identifier: Apache-2.0
// Writes a model as an IR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "openvino/opsets/opset.hpp"
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

/// To one stream, from where it stands: a DataHeader, what the program writes, the weights, and the model's text, which `cache_encrypt` may change.
/// Offsets count from the stream's begin.
class OPENVINO_API StreamSerialize : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("StreamSerialize")
  struct DataHeader {
    std::size_t custom_data_offset;
    std::size_t custom_data_size;
    std::size_t consts_offset;
    std::size_t consts_size;
    std::size_t model_offset;
    std::size_t model_size;
  };
  explicit StreamSerialize(std::ostream& stream, const std::function<void(std::ostream&)>& custom_data_serializer = {},
                           const std::function<std::string(const std::string&)>& cache_encrypt = {},
                           Serialize::Version version = Serialize::Version::UNSPECIFIED);
  /// @errors Exception: the stream fails, or cannot be moved back to its header.
  bool run_on_model(const std::shared_ptr<Model>& model) override;

 private:
  std::ostream& stream_;
  std::function<void(std::ostream&)> custom_data_;
  std::function<std::string(const std::string&)> encrypt_;
};

}  // namespace pass
}  // namespace ov
