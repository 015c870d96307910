// SPDX-License-Identifier: Apache-2.0
// The IR writer: models read back equal those written.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon {
namespace ir_writer_test {

namespace fs = std::filesystem;

fs::path zoo() {
  const char* folder = std::getenv("TENON_ZOO");
  return folder ? folder : "zoo";
}

std::string info_text(const AnyMap& map) { return Any(map).to_text(); }

void expect_equal_nodes(const Node& a, const Node& b) {
  EXPECT_EQ(a.get_type_info(), b.get_type_info());
  EXPECT_EQ(a.get_friendly_name(), b.get_friendly_name());
  EXPECT_TRUE(a.get_attributes() == b.get_attributes()) << a.describe();
  EXPECT_EQ(info_text(a.get_rt_info()), info_text(b.get_rt_info()));
  ASSERT_EQ(a.get_input_size(), b.get_input_size());
  ASSERT_EQ(a.get_output_size(), b.get_output_size());
  for (std::size_t i = 0; i < a.get_output_size(); ++i) {
    EXPECT_EQ(a.get_output_element_type(i), b.get_output_element_type(i));
    EXPECT_EQ(a.get_output_partial_shape(i).to_string(), b.get_output_partial_shape(i).to_string()) << a.describe();
    EXPECT_EQ(a.get_output_tensor(i).get_names(), b.get_output_tensor(i).get_names()) << a.describe();
  }
  if (const auto* constant = as_type<op::v0::Constant>(&a)) {
    const auto* other = as_type<op::v0::Constant>(&b);
    ASSERT_EQ(constant->get_byte_size(), other->get_byte_size());
    if (constant->get_byte_size() > 0) {
      EXPECT_EQ(std::memcmp(constant->get_data_ptr(), other->get_data_ptr(), constant->get_byte_size()), 0)
          << a.describe();
    }
  }
}

void expect_equal_models(const Model& a, const Model& b) {
  EXPECT_EQ(a.get_friendly_name(), b.get_friendly_name());
  EXPECT_EQ(info_text(a.get_rt_info()), info_text(b.get_rt_info()));
  const NodeVector left = a.get_ordered_ops(), right = b.get_ordered_ops();
  std::map<std::string, const Node*> by_name;
  for (const auto& node : right) by_name[node->get_friendly_name()] = node.get();
  ASSERT_EQ(left.size(), right.size());
  for (const auto& node : left) {
    const auto found = by_name.find(node->get_friendly_name());
    ASSERT_NE(found, by_name.end()) << node->describe();
    expect_equal_nodes(*node, *found->second);
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const auto source = node->input_value(i), other = found->second->input_value(i);
      EXPECT_EQ(source.get_node()->get_friendly_name(), other.get_node()->get_friendly_name());
      EXPECT_EQ(source.get_index(), other.get_index());
    }
  }
  ASSERT_EQ(a.get_parameters().size(), b.get_parameters().size());
  for (std::size_t i = 0; i < a.get_parameters().size(); ++i) {
    EXPECT_EQ(a.get_parameters()[i]->get_friendly_name(), b.get_parameters()[i]->get_friendly_name());
  }
  ASSERT_EQ(a.get_results().size(), b.get_results().size());
  for (std::size_t i = 0; i < a.get_results().size(); ++i) {
    EXPECT_EQ(a.get_results()[i]->get_friendly_name(), b.get_results()[i]->get_friendly_name());
  }
}

class IrRoundTrip : public ::testing::TestWithParam<const char*> {};

TEST_P(IrRoundTrip, OfOpenVinosFileChangesNothing) {
  const auto first = read_model(zoo() / (std::string(GetParam()) + ".xml"));
  const SerializedModel written = serialize(*first);
  const auto second = read_ir(written.xml, written.weights);
  expect_equal_models(*first, *second);
  const SerializedModel again = serialize(*second);
  EXPECT_EQ(written.xml, again.xml);
  ASSERT_EQ(written.weights.size_bytes(), again.weights.size_bytes());
  if (written.weights.size_bytes() > 0) {
    EXPECT_EQ(std::memcmp(written.weights.data(), again.weights.data(), again.weights.size_bytes()), 0);
  }
}

TEST_P(IrRoundTrip, ByAddressChangesNothingAndCopiesNothing) {
  const auto first = read_model(zoo() / (std::string(GetParam()) + ".onnx"));
  std::vector<const void*> addresses;
  const auto second = read_ir(serialize_by_address(*first), {}, "the IR", [&](const auto& attribute) -> Tensor {
    if (attribute.at("name") != "WeightsPointerAttribute") return {};
    addresses.push_back(reinterpret_cast<const void*>(std::stoull(attribute.at("mp"))));
    return Tensor(ElementType::kU8, Shape{std::stoull(attribute.at("ms"))}, const_cast<void*>(addresses.back()));
  });
  expect_equal_models(*first, *second);
  const SerializedModel a = serialize(*first), b = serialize(*second);
  EXPECT_EQ(a.xml, b.xml);
  ASSERT_EQ(a.weights.size_bytes(), b.weights.size_bytes());
  EXPECT_TRUE(a.weights.size_bytes() == 0 ||
              std::memcmp(a.weights.data(), b.weights.data(), a.weights.size_bytes()) == 0);
  for (const auto& node : first->get_ordered_ops()) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (!constant || constant->get_tensor().size_bytes() == 0) continue;
    EXPECT_GT(std::count(addresses.begin(), addresses.end(), constant->get_tensor().data()), 0)
        << node->get_friendly_name();
  }
}

TEST_P(IrRoundTrip, OfAnOnnxModelChangesNothing) {
  const auto first = read_model(zoo() / (std::string(GetParam()) + ".onnx"));
  const SerializedModel written = serialize(*first);
  const auto second = read_ir(written.xml, written.weights);
  EXPECT_EQ(serialize(*second).xml, written.xml);
  ASSERT_EQ(first->get_ordered_ops().size(), second->get_ordered_ops().size());
  for (std::size_t i = 0; i < first->inputs().size(); ++i) {
    EXPECT_EQ(first->input(i).get_names(), second->input(i).get_names());
  }
  for (std::size_t i = 0; i < first->outputs().size(); ++i) {
    EXPECT_EQ(first->output(i).get_names(), second->output(i).get_names());
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, IrRoundTrip,
                         ::testing::Values("relu1", "resnet50_tiny", "mobilenetv2_tiny", "yolo_tiny", "vit_tiny",
                                           "bert_tiny", "unet_tiny"),
                         [](const auto& info) { return std::string(info.param); });

class IrWriterFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tenon_ir_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, -1});
    x->output(0).set_names({"x", "a,b"});
    auto w = op::v0::Constant::create(element::f32, Shape{1, 3}, {1.0, 2.0, 3.0});
    model_ =
        std::make_shared<Model>(OutputVector{make_node("Add", 1, {x, w})->output(0),
                                             make_node("Multiply", 1, {x, w->copy_with_new_inputs({})})->output(0)},
                                ParameterVector{x}, "small");
    model_->set_rt_info(std::string("SSD"), {"model_info", "model_type"});
    model_->set_rt_info(std::string("v"), {"odd key"});
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  fs::path folder_;
  std::shared_ptr<Model> model_;
};

TEST_F(IrWriterFiles, WritesBothFilesAndNothingElse) {
  serialize(*model_, folder_ / "m.xml");
  EXPECT_EQ(file_count(), 2U);
  const auto read = read_model(folder_ / "m.xml");
  EXPECT_EQ(read->input("a,b"), read->input("x"));
  EXPECT_EQ(read->get_rt_info<std::string>("model_info", "model_type"), "SSD");
  EXPECT_TRUE(read->has_rt_info({"odd key"}));
  EXPECT_EQ(read->input(0).get_partial_shape().to_string(), "[1,?]");
}

TEST_F(IrWriterFiles, StoresEqualConstantsOnce) { EXPECT_EQ(serialize(*model_).weights.size_bytes(), 12U); }

TEST_F(IrWriterFiles, ReplacesWholeFilesOrLeavesThemAsTheyWere) {
  std::ofstream(folder_ / "m.xml") << "old";
  fs::create_directory(folder_ / "m.bin");  // Renaming a file onto a folder fails, even for root.
  EXPECT_THROW(serialize(*model_, folder_ / "m.xml"), Error);
  EXPECT_EQ(file_count(), 2U);
  std::string text;
  std::ifstream(folder_ / "m.xml") >> text;
  EXPECT_EQ(text, "old");
  fs::remove(folder_ / "m.bin");
  serialize(*model_, folder_ / "m.xml");
  EXPECT_NO_THROW(read_model(folder_ / "m.xml"));
}

TEST_F(IrWriterFiles, NamesThePlaceThatCannotBeWritten) {
  try {
    serialize(*model_, folder_ / "none" / "m.xml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("none/m.bin"));
  }
  EXPECT_EQ(file_count(), 0U);
  EXPECT_THROW(serialize(*model_, folder_ / "m.x", folder_ / "m.x"), Error);
}

}  // namespace ir_writer_test
}  // namespace tenon
