// SPDX-License-Identifier: Apache-2.0
// For tests of the ONNX reader: builds models message by message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon_onnx_schema.pb.h>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>

namespace tenon::onnx_test {

namespace fs = std::filesystem;
namespace schema = ::tenon::onnx_schema;

/// A model under construction.
struct Builder {
  schema::ModelProto model;
  explicit Builder(int opset = 17) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("g");
  }
  static void value(schema::ValueInfoProto& info, const std::string& name, const std::vector<std::int64_t>& shape,
                    int type) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (std::int64_t extent : shape) {
      auto* dimension = tensor->mutable_shape()->add_dim();
      if (extent < 0)
        dimension->set_dim_param("n");
      else
        dimension->set_dim_value(extent);
    }
    tensor->mutable_shape();
  }
  Builder& input(const std::string& name, const std::vector<std::int64_t>& shape,
                 int type = schema::TensorProto::FLOAT) {
    value(*model.mutable_graph()->add_input(), name, shape, type);
    return *this;
  }
  Builder& output(const std::string& name) {
    model.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  schema::NodeProto& node(const std::string& type, const std::vector<std::string>& in,
                          const std::vector<std::string>& out, const std::string& name = "") {
    auto& proto = *model.mutable_graph()->add_node();
    proto.set_op_type(type);
    proto.set_name(name);
    for (const auto& text : in) proto.add_input(text);
    for (const auto& text : out) proto.add_output(text);
    return proto;
  }
  schema::TensorProto& initializer(const std::string& name, const std::vector<std::int64_t>& shape,
                                   int type = schema::TensorProto::FLOAT) {
    auto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (std::int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  }
  Tensor bytes() const {
    const std::string text = model.SerializeAsString();
    Tensor tensor(ElementType::kU8, Shape{text.size()});
    std::memcpy(tensor.data(), text.data(), text.size());
    return tensor;
  }
  std::shared_ptr<Model> read(const fs::path& folder = {}) const { return read_onnx(bytes(), folder); }
  Error error(const fs::path& folder = {}) const {
    try {
      read(folder);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error was thrown";
    return Error(Code::kOk, "none");
  }
};

inline Tensor floats(const std::vector<float>& values, const Shape& shape) {
  Tensor tensor(ElementType::kF32, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}
inline std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.element_count()};
}

}  // namespace tenon::onnx_test
