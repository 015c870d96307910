// SPDX-License-Identifier: Apache-2.0
// Weights stay in the file: neither reading a model nor copying it touches them.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/tests/support/resident.hpp>

namespace tenon {
namespace mapped_weights_test {

namespace fs = std::filesystem;

constexpr std::size_t kWeightBytes = std::size_t{1} << 30, kLittle = std::size_t{32} << 20;

class MappedWeights : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_ = fs::temp_directory_path() / ("tenon_mapped_" + std::to_string(::getpid()));
};

const op::v0::Constant* largest_constant(const Model& model) {
  const op::v0::Constant* largest = nullptr;
  for_each_node(model, [&](const auto& node) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (constant && (!largest || constant->get_byte_size() > largest->get_byte_size())) largest = constant;
  });
  return largest;
}

TEST_F(MappedWeights, OfAnIrAreNeitherReadNorDuplicated) {
  // A sparse file of a gigabyte: it takes no space on the disc, and holes read as zeros.
  std::ofstream(folder_ / "m.bin").put('\0');
  fs::resize_file(folder_ / "m.bin", kWeightBytes);
  std::ofstream(folder_ / "m.xml") << R"(<net name="m" version="11"><layers>
    <layer id="0" name="i" type="Parameter" version="opset1"><data shape="1" element_type="i64"/><output><port id="0"/></output></layer>
    <layer id="1" name="w" type="Const" version="opset1"><data element_type="f16" shape="524288,1024" offset="0" size="1073741824"/><output><port id="0"/></output></layer>
    <layer id="2" name="a" type="Const" version="opset1"><data element_type="i64" shape="" offset="0" size="8"/><output><port id="0"/></output></layer>
    <layer id="3" name="g" type="Gather" version="opset8"><data batch_dims="0"/><input><port id="0"/><port id="1"/><port id="2"/></input><output><port id="3"/></output></layer>
    <layer id="4" name="c" type="Convert" version="opset1"><data destination_type="f32"/><rt_info><attribute name="decompression" version="0"/></rt_info><input><port id="0"/></input><output><port id="1"/></output></layer>
    <layer id="5" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers><edges>
    <edge from-layer="1" from-port="0" to-layer="3" to-port="0"/><edge from-layer="0" from-port="0" to-layer="3" to-port="1"/>
    <edge from-layer="2" from-port="0" to-layer="3" to-port="2"/><edge from-layer="3" from-port="3" to-layer="4" to-port="0"/>
    <edge from-layer="4" from-port="1" to-layer="5" to-port="0"/></edges></net>)";
  const std::size_t before = resident_bytes();
  const auto model = read_model(folder_ / "m.xml");
  const auto copy = model->clone();
  EXPECT_LT(resident_bytes(), before + kLittle);
  for (const auto& each : {model, copy}) {
    const auto* weights = largest_constant(*each);
    ASSERT_TRUE(weights);
    EXPECT_EQ(weights->get_byte_size(), kWeightBytes);
    EXPECT_EQ(mapped_file_at(weights->get_data_ptr()), (folder_ / "m.bin").string());
  }
  EXPECT_EQ(largest_constant(*model)->get_data_ptr(), largest_constant(*copy)->get_data_ptr());
}

// OpenVINO writes constants without gaps: constants that a neighbour of odd size moved off their type's alignment are
// copied, because kernels may not read them there.
TEST_F(MappedWeights, OfWhatOpenVinoWroteAreInPlaceWhereTheyAreAligned) {
  const char* zoo = std::getenv("TENON_ZOO");
  for (const char* name : {"bert_tiny", "unet_tiny", "lstm_tiny", "resnet50_int8_tiny"}) {
    const auto model = read_model(fs::path(zoo ? zoo : "zoo") / (std::string(name) + ".xml"));
    std::size_t mapped = 0, copied = 0;
    for_each_node(*model, [&](const auto& node) {
      const auto* constant = as_type<op::v0::Constant>(node.get());
      if (!constant || constant->get_byte_size() == 0) return;
      const bool is_mapped = mapped_file_at(constant->get_data_ptr()).find(".bin") != std::string::npos;
      (is_mapped ? mapped : copied) += constant->get_byte_size();
    });
    EXPECT_GT(mapped, 0U) << name;
    EXPECT_LT(copied, mapped / 4) << name;
    std::printf("%s: %zu bytes mapped, %zu copied for their alignment\n", name, mapped, copied);
  }
}

}  // namespace mapped_weights_test
}  // namespace tenon
