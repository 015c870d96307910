// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor against OpenVINO's: preprocess_cases.py makes the cases; this file performs the same calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>
#include <tenon/runtime/runtime.hpp>

namespace preprocess_oracle_test {
using namespace tenon;
using namespace tenon::preprocess;
namespace fs = std::filesystem;
using testing::HasSubstr;

struct Case {
  std::string label, error;
  double tolerance = 0;
  std::vector<std::string> calls;
  std::vector<Tensor> inputs;
  std::vector<std::string> names;
  Tensor output;
};

Tensor read_tensor(const fs::path& folder, std::istringstream& line) {
  std::string type, extents, file;
  line >> type >> extents >> file;
  Tensor tensor(element_type_from_name(type).value(), PartialShape("[" + extents + "]").to_shape());
  std::ifstream in(folder / file, std::ios::binary);
  in.read(static_cast<char*>(tensor.data()), static_cast<std::streamsize>(tensor.size_bytes()));
  EXPECT_EQ(static_cast<std::size_t>(in.gcount()), tensor.size_bytes()) << file;
  return tensor;
}

std::vector<Case> read_cases(const fs::path& folder) {
  std::vector<Case> cases;
  std::ifstream index(folder / "index.txt");
  for (std::string text; std::getline(index, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "case") cases.emplace_back().label = text.substr(5);
    Case& c = cases.back();
    if (word == "tolerance") line >> c.tolerance;
    if (word == "do") c.calls.push_back(text.substr(3));
    if (word == "throws") c.error = text.substr(7);
    if (word == "output") c.output = read_tensor(folder, line);
    if (word == "input") {
      c.inputs.push_back(read_tensor(folder, line));
      line >> c.names.emplace_back();
    }
  }
  return cases;
}

/// The cases, made once per run; their folder is removed once they are read.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    if (const char* made = std::getenv("TENON_PREPROCESS_CASES")) return read_cases(made);
    const char* source = std::getenv("TENON_SOURCE_DIR");
    const char* python = std::getenv("TENON_PYTHON");
    if (!source) throw Error(Code::kFailedPrecondition, "TENON_SOURCE_DIR must name the repository");
    const fs::path folder = fs::temp_directory_path() / ("tenon_preprocess_" + std::to_string(::getpid()));
    const std::string command = (python ? std::string(python) : std::string(source) + "/build/venv/bin/python") + " " +
                                source + "/runtime/preprocess/preprocess_cases.py " + folder.string() + " >/dev/null";
    auto read = std::system(command.c_str()) == 0 ? read_cases(folder) : std::vector<Case>();
    fs::remove_all(folder);
    return read;
  }();
  return all;
}

template <typename E>
E value_of(const std::map<std::string, E>& names, const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end()) throw Error(Code::kNotFound, "the test does not know " + name);
  return found->second;
}

ColorFormat colour(const std::string& name) {
  return value_of<ColorFormat>({{"UNDEFINED", ColorFormat::UNDEFINED},
                                {"NV12_SINGLE_PLANE", ColorFormat::NV12_SINGLE_PLANE},
                                {"NV12_TWO_PLANES", ColorFormat::NV12_TWO_PLANES},
                                {"I420_SINGLE_PLANE", ColorFormat::I420_SINGLE_PLANE},
                                {"I420_THREE_PLANES", ColorFormat::I420_THREE_PLANES},
                                {"RGB", ColorFormat::RGB},
                                {"BGR", ColorFormat::BGR},
                                {"GRAY", ColorFormat::GRAY},
                                {"RGBX", ColorFormat::RGBX},
                                {"BGRX", ColorFormat::BGRX}},
                               name);
}

ResizeAlgorithm algorithm(const std::string& name) {
  return value_of<ResizeAlgorithm>({{"LINEAR", ResizeAlgorithm::RESIZE_LINEAR},
                                    {"CUBIC", ResizeAlgorithm::RESIZE_CUBIC},
                                    {"NEAREST", ResizeAlgorithm::RESIZE_NEAREST},
                                    {"BILINEAR_PILLOW", ResizeAlgorithm::RESIZE_BILINEAR_PILLOW},
                                    {"BICUBIC_PILLOW", ResizeAlgorithm::RESIZE_BICUBIC_PILLOW}},
                                   name);
}

PaddingMode mode(const std::string& name) {
  return value_of<PaddingMode>({{"CONSTANT", PaddingMode::CONSTANT},
                                {"EDGE", PaddingMode::EDGE},
                                {"REFLECT", PaddingMode::REFLECT},
                                {"SYMMETRIC", PaddingMode::SYMMETRIC}},
                               name);
}

template <typename T>
std::vector<T> numbers(const std::string& text) {
  std::vector<T> values;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) values.push_back(static_cast<T>(std::stod(word)));
  return values;
}

element::Type type_of(const std::string& name) { return element_type_from_name(name).value(); }
PartialShape shape_of(const std::string& text) {
  return text == "..." ? PartialShape::dynamic() : PartialShape("[" + text + "]");
}

/// A model whose output is its input.
std::shared_ptr<Model> make_model(const std::string& call) {
  std::istringstream line(call);
  std::string word, type, shape;
  line >> word >> type >> shape;
  const auto x = std::make_shared<op::v0::Parameter>(type_of(type), shape_of(shape));
  x->set_friendly_name("image");
  x->output(0).set_names({"image"});
  const auto zero = std::make_shared<op::v0::Constant>(type_of(type), Shape{}, std::vector<double>{0});
  const auto sum = std::make_shared<op::v1::Add>(x, zero);
  sum->set_friendly_name("sum");
  sum->output(0).set_names({"sum"});
  return std::make_shared<Model>(OutputVector{sum->output(0)}, ParameterVector{x}, "m");
}

bool call_tensor(InputTensorInfo& tensor, const std::string& word, const std::vector<std::string>& a) {
  if (word == "type") return tensor.set_element_type(type_of(a[0])), true;
  if (word == "layout") return tensor.set_layout(Layout(a[0])), true;
  if (word == "color") return tensor.set_color_format(colour(a[0]), {a.begin() + 1, a.end()}), true;
  if (word == "spatial") return tensor.set_spatial_static_shape(std::stoul(a[0]), std::stoul(a[1])), true;
  if (word == "spatial_dynamic") return tensor.set_spatial_dynamic_shape(), true;
  if (word == "shape") return tensor.set_shape(shape_of(a[0])), true;
  if (word == "memory") return tensor.set_memory_type(a[0]), true;
  return false;
}

bool call_steps(PreProcessSteps& steps, const std::string& word, const std::vector<std::string>& a) {
  if (word == "convert_color") return steps.convert_color(colour(a[0])), true;
  if (word == "convert_type")
    return a.empty() ? steps.convert_element_type() : steps.convert_element_type(type_of(a[0])), true;
  if (word == "convert_layout") return steps.convert_layout(Layout(a[0])), true;
  if (word == "permute") return steps.convert_layout(numbers<std::uint64_t>(a[0])), true;
  if (word == "mean" || word == "scale") {
    const auto values = numbers<float>(a[0]);
    if (word == "mean") return values.size() > 1 ? steps.mean(values) : steps.mean(values[0]), true;
    return values.size() > 1 ? steps.scale(values) : steps.scale(values[0]), true;
  }
  if (word == "pad") return steps.pad(numbers<int>(a[0]), numbers<int>(a[1]), std::stof(a[2]), mode(a[3])), true;
  if (word == "crop") return steps.crop(numbers<int>(a[0]), numbers<int>(a[1])), true;
  if (word == "resize" && a.size() == 1) return steps.resize(algorithm(a[0])), true;
  if (word == "resize") return steps.resize(algorithm(a[0]), std::stoul(a[1]), std::stoul(a[2])), true;
  if (word == "reverse") return steps.reverse_channels(), true;
  return false;
}

bool call_output(OutputInfo& output, const std::string& word, const std::vector<std::string>& a) {
  PostProcessSteps& post = output.postprocess();
  if (word == "out_type") return output.tensor().set_element_type(type_of(a[0])), true;
  if (word == "out_layout") return output.tensor().set_layout(Layout(a[0])), true;
  if (word == "out_model_layout") return output.model().set_layout(Layout(a[0])), true;
  if (word == "post_type")
    return a.empty() ? post.convert_element_type() : post.convert_element_type(type_of(a[0])), true;
  if (word == "post_layout") return post.convert_layout(Layout(a[0])), true;
  if (word == "post_permute") return post.convert_layout(numbers<std::uint64_t>(a[0])), true;
  return false;
}

void call(PrePostProcessor& p, const std::string& text) {
  std::istringstream line(text);
  std::string word;
  line >> word;
  std::vector<std::string> a;
  for (std::string argument; line >> argument;) a.push_back(argument);
  const auto is_number = [&] { return std::isdigit(static_cast<unsigned char>(a[0][0])) != 0; };
  if (word == "model_layout") {
    p.input().model().set_layout(Layout(a[0]));
  } else if (word == "input") {
    is_number() ? p.input(std::stoul(a[0])) : p.input(a[0]);
  } else if (word == "output") {
    is_number() ? p.output(std::stoul(a[0])) : p.output(a[0]);
  } else if (word == "build") {
    p.build();
  } else if (!call_tensor(p.input().tensor(), word, a) && !call_steps(p.input().preprocess(), word, a) &&
             !call_output(p.output(), word, a)) {
    throw Error(Code::kUnimplemented, "the test does not know " + text);
  }
}

std::shared_ptr<Model> build(const Case& c) {
  PrePostProcessor p(make_model(c.calls[0]));
  for (std::size_t i = 1; i < c.calls.size(); ++i) call(p, c.calls[i]);
  return p.build();
}

/// Tolerance: steps for integers; for reals a fraction of 255, or of the value if that is larger.
void expect_same(const Case& c, const Tensor& got, const std::string& what) {
  ASSERT_EQ(name(got.element_type()), name(c.output.element_type())) << what;
  ASSERT_EQ(to_string(got.shape()), to_string(c.output.shape())) << what;
  const auto a = op::v0::Constant(got).to_doubles(), b = op::v0::Constant(c.output).to_doubles();
  const bool real = info(got.element_type()).is_real;
  double span = 1;
  if (real) {
    for (double value : b) span = std::max(span, std::abs(value));
  }
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - b[i]), c.tolerance * span)
        << what << ", element " << i << ": " << a[i] << " for " << b[i];
}

TEST(PrePostProcessorOracle, ReferenceAgreesWithOpenVino) {
  ASSERT_GT(cases().size(), 400u) << "preprocess_cases.py failed: is OpenVINO's Python package there?";
  std::size_t count = 0;
  for (const Case& c : cases()) {
    if (!c.error.empty()) continue;
    SCOPED_TRACE(c.label);
    try {
      const auto model = build(c);
      ASSERT_EQ(model->inputs().size(), c.inputs.size());
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        const auto input = model->input(i);
        EXPECT_EQ(input.get_names().empty() ? "-" : input.get_any_name(), c.names[i]);
        EXPECT_TRUE(input.get_partial_shape().compatible(PartialShape(c.inputs[i].shape())))
            << input.get_partial_shape() << " for " << to_string(c.inputs[i].shape());
      }
      expect_same(c, evaluate(*model, c.inputs).at(0), "reference");
      ++count;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  RecordProperty("cases", static_cast<int>(count));
}

TEST(PrePostProcessorOracle, CpuAgreesWithOpenVino) {
  Core core;
  const auto devices = core.get_available_devices();
  if (std::find(devices.begin(), devices.end(), "CPU") == devices.end()) GTEST_SKIP() << "the CPU device is not built";
  ASSERT_GT(cases().size(), 400u);
  for (const Case& c : cases()) {
    if (!c.error.empty()) continue;
    SCOPED_TRACE(c.label);
    try {
      auto request = core.compile_model(build(c), "CPU").create_infer_request();
      for (std::size_t i = 0; i < c.inputs.size(); ++i) request.set_input_tensor(i, c.inputs[i]);
      request.infer();
      expect_same(c, request.get_output_tensor(0), "CPU");
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(PrePostProcessorOracle, RefusesWhatOpenVinoRefuses) {
  std::size_t count = 0;
  for (const Case& c : cases()) {
    if (c.error.empty()) continue;
    SCOPED_TRACE(c.label);
    try {
      build(c);
      ADD_FAILURE() << "was not refused; OpenVINO says " << c.error;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_THAT(error.what(), HasSubstr(c.error));
      ++count;
    }
  }
  EXPECT_GT(count, 50u);
}
}  // namespace preprocess_oracle_test
