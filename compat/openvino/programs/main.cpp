// SPDX-License-Identifier: Apache-2.0
// Runs all programs and compares what they print with a file: main expected.txt. Without a file, it is printed.
#include <algorithm>
#include <vector>

#include "compare.hpp"
#include "programs.hpp"

namespace {

std::string dims(const std::string& shape) {
  std::istringstream in(shape);
  std::string text, extent;
  while (std::getline(in, extent, ',')) text += "<dim>" + extent + "</dim>";
  return text;
}
std::string port(int id, const std::string& shape, const std::string& precision = "FP32",
                 const std::string& names = {}) {
  return "<port id=\"" + std::to_string(id) + "\" precision=\"" + precision + "\"" +
         (names.empty() ? "" : " names=\"" + names + "\"") + ">" + dims(shape) + "</port>";
}
std::string edge(int from, int from_port, int to, int to_port) {
  return "<edge from-layer=\"" + std::to_string(from) + "\" from-port=\"" + std::to_string(from_port) +
         "\" to-layer=\"" + std::to_string(to) + "\" to-port=\"" + std::to_string(to_port) + "\"/>";
}

}  // namespace

std::shared_ptr<ov::Model> small_model(ov::Core& core, const std::string& shape) {
  const std::string xml =
      "<?xml version=\"1.0\"?><net name=\"small\" version=\"11\"><layers>"
      "<layer id=\"0\" name=\"input\" type=\"Parameter\" version=\"opset1\"><data shape=\"" +
      shape + "\" element_type=\"f32\"/><output>" + port(0, "", "FP32", "x") +
      "</output></layer>"
      "<layer id=\"1\" name=\"channels\" type=\"Const\" version=\"opset1\"><data element_type=\"f32\" "
      "shape=\"1,3,1,1\" "
      "offset=\"0\" size=\"12\"/><output>" +
      port(0, "1,3,1,1") +
      "</output></layer>"
      "<layer id=\"2\" name=\"sum\" type=\"Add\" version=\"opset1\"><data auto_broadcast=\"numpy\"/><input>" +
      port(0, "") + port(1, "1,3,1,1") + "</input><output>" + port(2, "", "FP32", "inner") +
      "</output></layer>"
      "<layer id=\"3\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input>" +
      port(0, "") + "</input><output>" + port(1, "", "FP32", "y") +
      "</output></layer>"
      "<layer id=\"4\" name=\"output\" type=\"Result\" version=\"opset1\"><input>" +
      port(0, "") +
      "</input></layer>"
      "</layers><edges>" +
      edge(0, 0, 2, 0) + edge(1, 0, 2, 1) + edge(2, 2, 3, 0) + edge(3, 1, 4, 0) +
      "</edges><rt_info><model_info><labels value=\"cat dog\"/></model_info></rt_info></net>";
  ov::Tensor weights(ov::element::u8, {12});
  const float channels[] = {1, 2, 3};
  std::copy_n(reinterpret_cast<const unsigned char*>(channels), 12, weights.data<unsigned char>());
  return core.read_model(xml, weights);
}

std::shared_ptr<ov::Model> stateful_model(ov::Core& core) {
  const std::string variable = "variable_id=\"sum\" variable_type=\"f32\" variable_shape=\"1,2\"";
  const std::string xml =
      "<?xml version=\"1.0\"?><net name=\"stateful\" version=\"11\"><layers>"
      "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,2\" "
      "element_type=\"f32\"/><output>" +
      port(0, "1,2", "FP32", "x") +
      "</output></layer>"
      "<layer id=\"1\" name=\"start\" type=\"Const\" version=\"opset1\"><data element_type=\"f32\" shape=\"1,2\" "
      "offset=\"0\" "
      "size=\"8\"/><output>" +
      port(0, "1,2") +
      "</output></layer>"
      "<layer id=\"2\" name=\"read\" type=\"ReadValue\" version=\"opset6\"><data " +
      variable + "/><input>" + port(0, "1,2") + "</input><output>" + port(1, "1,2") +
      "</output></layer>"
      "<layer id=\"3\" name=\"add\" type=\"Add\" version=\"opset1\"><input>" +
      port(0, "1,2") + port(1, "1,2") + "</input><output>" + port(2, "1,2", "FP32", "y") +
      "</output></layer>"
      "<layer id=\"4\" name=\"write\" type=\"Assign\" version=\"opset6\"><data variable_id=\"sum\"/><input>" +
      port(0, "1,2") + "</input><output>" + port(1, "1,2") +
      "</output></layer>"
      "<layer id=\"5\" name=\"y\" type=\"Result\" version=\"opset1\"><input>" +
      port(0, "1,2") +
      "</input></layer>"
      "</layers><edges>" +
      edge(1, 0, 2, 0) + edge(2, 1, 3, 0) + edge(0, 0, 3, 1) + edge(3, 2, 4, 0) + edge(3, 2, 5, 0) + "</edges></net>";
  ov::Tensor weights(ov::element::u8, {8});
  const float start[] = {10, 20};
  std::copy_n(reinterpret_cast<const unsigned char*>(start), 8, weights.data<unsigned char>());
  return core.read_model(xml, weights);
}

std::shared_ptr<ov::op::v0::Parameter> f32_input(const ov::PartialShape& shape, const std::string& name) {
  auto made = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, shape);
  made->set_friendly_name(name);
  return made;
}
std::shared_ptr<ov::op::v0::Constant> i64_values(const std::vector<std::int64_t>& values) {
  return ov::op::v0::Constant::create(ov::element::i64, {values.size()}, values);
}
std::string sorted_types(const std::shared_ptr<ov::Model>& model) {
  std::vector<std::string> types;
  for (const auto& node : model->get_ordered_ops())
    if (!ov::is_type<ov::op::v0::Constant>(node)) types.emplace_back(node->get_type_name());
  std::sort(types.begin(), types.end());
  std::string text;
  for (const auto& each : types) text += ' ' + each;
  return text;
}

int main(int argc, char** argv) {
  std::ostringstream printed;
  std::streambuf* console = std::cout.rdbuf(printed.rdbuf());
  const auto run = [](const char* name, void (*program)()) {
    line("== ", name);
    try {
      program();
    } catch (const std::exception& error) {
      line(name, " ended by ", error.what());
    }
  };
  run("values", values);
  run("models", models);
  run("inference", inference);
  run("errors", errors);
  run("properties", properties);
  run("preprocessing", preprocessing);
  run("dynamic shapes", dynamic_shapes);
  run("building", building);
  run("attributes", attributes);
  run("frontends", frontends);
  run("control flow", control_flow);
  run("passes", passes);
  run("rewriting", rewriting);
  run("asking", asking);
  run("texts in patterns", texts_in_patterns);
  run("states and folding", states_and_folding);
  run("samples", samples);
  run("parts", parts);
  run("guide to preprocessing", guide_preprocess);
  run("guide to the runtime", guide_runtime);
  run("composites", composites);
  run("requests", kept_requests);
  std::cout.rdbuf(console);
  return compare(printed.str(), argc > 1 ? argv[1] : nullptr);
}
