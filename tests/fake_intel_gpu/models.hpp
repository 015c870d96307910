// SPDX-License-Identifier: Apache-2.0
// Models of a few nodes as OpenVINO IR, written to files, which both runtimes read.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace twin {

/// Shape of a Parameter: -1 is a dimension that moves.
using Dims = std::vector<int>;

class ModelText {
 public:
  explicit ModelText(std::string name) : name_(std::move(name)) {}

  /// @return the layer's number.
  int parameter(const std::string& name, const Dims& dims) {
    return layer("Parameter", name, "shape=\"" + joined(dims) + "\" element_type=\"f32\"", {}, {dims}, name);
  }
  int number(float value) {
    const std::size_t offset = numbers_.size() * sizeof(float);
    numbers_.push_back(value);
    return layer("Const", "c" + std::to_string(count_),
                 "element_type=\"f32\" shape=\"\" offset=\"" + std::to_string(offset) + "\" size=\"4\"", {}, {Dims{}});
  }
  int node(const std::string& type, const std::string& name, const std::string& data, const std::vector<int>& inputs,
           const Dims& dims, const std::string& tensor = {}, const std::string& opset = "opset1",
           const std::string& precision = "FP32") {
    return layer(type, name, data, inputs, {dims}, tensor, opset, precision);
  }
  void result(int from, const Dims& dims) {
    std::ostringstream text;
    text << "<layer id=\"" << count_ << "\" name=\"r" << count_ << "\" type=\"Result\" version=\"opset1\"><input>"
         << port(0, dims, "FP32") << "</input></layer>\n";
    connect(from, count_++, 0);
    layers_ += text.str();
  }
  /// Writes name.xml and name.bin. @return the path of the first.
  std::string write(const std::string& folder) const {
    const std::string path = folder + "/" + name_;
    std::ofstream(path + ".xml") << "<?xml version=\"1.0\"?>\n<net name=\"" << name_ << "\" version=\"11\"><layers>\n"
                                 << layers_ << "</layers><edges>\n"
                                 << edges_ << "</edges></net>\n";
    std::ofstream(path + ".bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers_.data()),
               static_cast<std::streamsize>(numbers_.size() * sizeof(float)));
    return path + ".xml";
  }

 private:
  static std::string joined(const Dims& dims) {
    std::string text;
    for (int dim : dims) text += (text.empty() ? "" : ",") + (dim < 0 ? std::string("?") : std::to_string(dim));
    return text;
  }
  static std::string port(int number, const Dims& dims, const std::string& precision, const std::string& name = {}) {
    std::string text = "<port id=\"" + std::to_string(number) + "\" precision=\"" + precision + "\"" +
                       (name.empty() ? std::string() : " names=\"" + name + "\"") + ">";
    for (int dim : dims) text += "<dim>" + std::to_string(dim) + "</dim>";
    return text + "</port>";
  }
  void connect(int from, int to, int input) {
    std::ostringstream text;
    text << "<edge from-layer=\"" << from << "\" from-port=\"" << outputs_[static_cast<std::size_t>(from)]
         << "\" to-layer=\"" << to << "\" to-port=\"" << input << "\"/>\n";
    edges_ += text.str();
  }
  int layer(const std::string& type, const std::string& name, const std::string& data, const std::vector<int>& inputs,
            const std::vector<Dims>& outputs, const std::string& tensor = {}, const std::string& opset = "opset1",
            const std::string& precision = "FP32") {
    std::ostringstream text;
    text << "<layer id=\"" << count_ << "\" name=\"" << name << "\" type=\"" << type << "\" version=\"" << opset
         << "\"><data " << data << "/>";
    if (!inputs.empty()) {
      text << "<input>";
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        text << port(static_cast<int>(i), dims_[static_cast<std::size_t>(inputs[i])], "FP32");
        connect(inputs[i], count_, static_cast<int>(i));
      }
      text << "</input>";
    }
    const int output = static_cast<int>(inputs.size());
    text << "<output>" << port(output, outputs[0], precision, tensor) << "</output></layer>\n";
    layers_ += text.str();
    outputs_.push_back(output);
    dims_.push_back(outputs[0]);
    return count_++;
  }

  std::string name_, layers_, edges_;
  std::vector<float> numbers_;
  std::vector<int> outputs_;
  std::vector<Dims> dims_;
  int count_ = 0;
};

/// y = 2 x + 1
inline std::string line(const std::string& folder, const std::string& name, const Dims& dims) {
  ModelText text(name);
  const int x = text.parameter("x", dims), two = text.number(2), one = text.number(1);
  const int product = text.node("Multiply", "product", "auto_broadcast=\"numpy\"", {x, two}, dims);
  const int sum = text.node("Add", "sum", "auto_broadcast=\"numpy\"", {product, one}, dims, "y");
  text.result(sum, dims);
  return text.write(folder);
}
/// y = max(x, 0)
inline std::string relu(const std::string& folder, const std::string& name, const Dims& dims) {
  ModelText text(name);
  const int x = text.parameter("x", dims);
  text.result(text.node("ReLU", "relu", "", {x}, dims, "y"), dims);
  return text.write(folder);
}
/// The positions of what is not 0: how many there are depends on values.
inline std::string positions(const std::string& folder) {
  ModelText text("positions");
  const int x = text.parameter("x", {16});
  const int found = text.node("NonZero", "found", "output_type=\"i32\"", {x}, {1, -1}, "", "opset3", "I32");
  const int as_real = text.node("Convert", "real", "destination_type=\"f32\"", {found}, {1, -1}, "y");
  text.result(as_real, {1, -1});
  return text.write(folder);
}

}  // namespace twin
