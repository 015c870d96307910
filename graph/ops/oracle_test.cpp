// SPDX-License-Identifier: Apache-2.0
// Compares every kernel and shape function with OpenVINO's CPU plugin: oracle_cases.py makes the cases, this file
// replays them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/operation_table.hpp>

namespace ops_oracle_test {
using namespace tenon;
namespace fs = std::filesystem;

struct Case {
  std::string label, type;
  unsigned version = 0;
  double tolerance = 1e-4;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Tensor> inputs, outputs;
  std::vector<bool> constant;
};

Tensor read_tensor(const fs::path& folder, std::istringstream& line) {
  std::string type, extents, file;
  line >> type >> extents >> file;
  Shape shape;
  if (extents != "-") {
    for (const Dimension& d : PartialShape(extents)) shape.push_back(static_cast<std::size_t>(d.get_length()));
  }
  Tensor tensor(element_type_from_name(type).value(), shape);
  std::ifstream in(folder / file, std::ios::binary);
  in.read(static_cast<char*>(tensor.data()), static_cast<std::streamsize>(tensor.size_bytes()));
  EXPECT_EQ(static_cast<std::size_t>(in.gcount()), tensor.size_bytes()) << file;
  return tensor;
}

std::vector<Case> read_cases(const fs::path& folder) {
  std::vector<Case> cases;
  std::ifstream index(folder / "index.txt");
  std::string text;
  while (std::getline(index, text)) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "case") {
      cases.emplace_back();
      cases.back().label = text.substr(5);
    } else if (word == "node") {
      line >> cases.back().type >> cases.back().version >> cases.back().tolerance;
    } else if (word == "attribute") {
      const auto equals = text.find('=');
      cases.back().attributes.emplace_back(text.substr(10, equals - 10), text.substr(equals + 1));
    } else if (word == "output") {
      cases.back().outputs.push_back(read_tensor(folder, line));
    } else {
      cases.back().constant.push_back(word == "constant");
      cases.back().inputs.push_back(read_tensor(folder, line));
    }
  }
  return cases;
}

/// Made once per run; the folder is removed when the process ends.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    const char* source = std::getenv("TENON_SOURCE_DIR");
    const char* python = std::getenv("TENON_PYTHON");
    if (!source) throw Error(Code::kFailedPrecondition, "TENON_SOURCE_DIR must name the repository");
    const fs::path folder = fs::temp_directory_path() / ("tenon_oracle_" + std::to_string(::getpid()));
    const std::string command = (python ? std::string(python) : std::string(source) + "/build/venv/bin/python") + " " +
                                source + "/graph/ops/oracle_cases.py " + folder.string() + " >/dev/null";
    const int status = std::system(command.c_str());
    auto read = status == 0 ? read_cases(folder) : std::vector<Case>();
    fs::remove_all(folder);
    return read;
  }();
  return all;
}

Attributes typed_attributes(const Case& c) {
  const Operation* operation = find_operation(c.type, c.version);
  Attributes attributes;
  for (const auto& [name, text] : c.attributes) {
    const AttributeSpec* spec = operation ? operation->find_attribute(name) : nullptr;
    if (spec)
      attributes.set(name, Attribute::from_text(spec->kind, text));
    else
      attributes.set(name, text);  // make_node reports unknown ones.
  }
  return attributes;
}

/// A copy with odd gaps between elements and rows: kernels must honour strides.
Tensor strided_copy(const Tensor& packed, std::vector<std::vector<char>>& rooms) {
  if (packed.shape().empty() || packed.element_count() == 0 || size_bytes(packed.element_type()) == 0) return packed;
  ByteStrides strides = packed.byte_strides();
  const auto size = static_cast<std::ptrdiff_t>(size_bytes(packed.element_type()));
  std::ptrdiff_t step = size * 2;
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = step;
    step = step * static_cast<std::ptrdiff_t>(packed.shape()[axis]) + 3 * size;
  }
  rooms.emplace_back(static_cast<std::size_t>(step) + 64, '\x5a');
  const auto offset = (64 - reinterpret_cast<std::uintptr_t>(rooms.back().data()) % 64) % 64;
  Tensor copy(packed.element_type(), packed.shape(), rooms.back().data() + offset, strides);
  copy_strided(packed.element_type(), packed.shape(), packed.data(), packed.byte_strides(), copy.data(), strides);
  return copy;
}

void expect_same(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(name(got.element_type()), name(expected.element_type())) << what;
  ASSERT_EQ(to_string(got.shape()), to_string(expected.shape())) << what;
  const auto a = op::v0::Constant(got).to_doubles(), b = op::v0::Constant(expected).to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance * std::max(1.0, std::abs(b[i])))
        << what << ", element " << i << ": " << a[i] << " for " << b[i];
  }
}

TEST(Operations, AgreeWithOpenVino) {
  ASSERT_GT(cases().size(), 400u) << "oracle_cases.py failed: is OpenVINO's Python package there?";
  std::set<const Operation*> seen;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.label);
    try {
      OutputVector inputs;
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        if (c.constant[i])
          inputs.push_back(std::make_shared<op::v0::Constant>(c.inputs[i])->output(0));
        else
          inputs.push_back(
              std::make_shared<op::v0::Parameter>(c.inputs[i].element_type(), PartialShape(c.inputs[i].shape()))
                  ->output(0));
      }
      const auto node = make_node(c.type, c.version, inputs, typed_attributes(c), c.label);
      seen.insert(&node->operation());
      std::vector<std::vector<char>> rooms;
      rooms.reserve(c.inputs.size());
      std::vector<Tensor> strided;
      for (const Tensor& input : c.inputs) strided.push_back(strided_copy(input, rooms));
      for (const auto& tensors : {c.inputs, strided}) {
        const auto outputs = evaluate_node(*node, tensors);
        ASSERT_GE(outputs.size(), c.outputs.size());
        for (std::size_t i = 0; i < c.outputs.size(); ++i)
          expect_same(outputs[i], c.outputs[i], c.tolerance, c.label + ", output " + std::to_string(i));
      }
      // The shape function's result must match the actual output.
      for (std::size_t i = 0; i < c.outputs.size(); ++i) {
        EXPECT_TRUE(node->get_output_partial_shape(i).compatible(PartialShape(c.outputs[i].shape())))
            << node->get_output_partial_shape(i) << " inferred for " << to_string(c.outputs[i].shape());
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  RecordProperty("operations", static_cast<int>(seen.size()));
}

TEST(Operations, InferShapesThatHoldWhenInputsAreDynamic) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.label);
    for (const bool rank_known : {true, false}) {
      try {
        OutputVector inputs;
        for (std::size_t i = 0; i < c.inputs.size(); ++i) {
          const PartialShape shape = rank_known
                                         ? PartialShape::dynamic(static_cast<std::int64_t>(c.inputs[i].shape().size()))
                                         : PartialShape::dynamic();
          // The number of outputs of a split is part of its shape, so that list must stay known.
          const bool baked = c.type == "VariadicSplit" && i == 2;
          if (baked)
            inputs.push_back(std::make_shared<op::v0::Constant>(c.inputs[i])->output(0));
          else
            inputs.push_back(std::make_shared<op::v0::Parameter>(c.inputs[i].element_type(), shape)->output(0));
        }
        const auto node = make_node(c.type, c.version, inputs, typed_attributes(c), c.label);
        for (std::size_t i = 0; i < c.outputs.size(); ++i) {
          EXPECT_TRUE(node->get_output_partial_shape(i).relaxes(PartialShape(c.outputs[i].shape())))
              << node->get_output_partial_shape(i) << " excludes " << to_string(c.outputs[i].shape());
        }
        const auto outputs = evaluate_node(*node, c.inputs);
        for (std::size_t i = 0; i < c.outputs.size(); ++i)
          expect_same(outputs[i], c.outputs[i], c.tolerance, c.label + " (dynamic)");
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}
}  // namespace ops_oracle_test
