// SPDX-License-Identifier: Apache-2.0
// Tensors of strings as a model's inputs, values and outputs on the CPU device.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace cpu_strings_test {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kLong = "a text that is too long for the object itself";

Tensor words(const std::vector<std::string>& values) {
  Tensor tensor(element::string, Shape{values.size()});
  std::copy(values.begin(), values.end(), tensor.data<std::string>());
  return tensor;
}
std::vector<std::string> words_of(const Tensor& tensor) {
  return {tensor.data<std::string>(), tensor.data<std::string>() + tensor.element_count()};
}
Output<Node> constant(const Tensor& value) { return std::make_shared<op::v0::Constant>(value)->output(0); }

/// Words become numbers, which are multiplied, and the words with another behind them; the words themselves come out, too.
std::shared_ptr<Model> model_of_words(const PartialShape& shape) {
  const auto x = std::make_shared<op::v0::Parameter>(element::string, shape);
  x->output(0).set_names({"x"});
  const auto values = op::v0::Constant::create(element::f32, Shape{2}, std::vector<double>{10, 20});
  const auto none = op::v0::Constant::create(element::f32, Shape{}, std::vector<double>{-1});
  const auto two = op::v0::Constant::create(element::f32, Shape{}, std::vector<double>{2});
  const auto number = make_node("LookUp", 1, {x, constant(words({"ten", kLong})), values, none});
  const auto twice = make_node("Multiply", 1, {number, two});
  const auto joined = make_node("StringConcat", 1, {x, constant(words({"!"}))});
  return std::make_shared<Model>(OutputVector{twice->output(0), joined->output(0), x->output(0)}, ParameterVector{x},
                                 "words");
}

TEST(CpuStrings, PassThroughRequests) {
  Core core;
  core.set_property("CPU", hint::inference_precision(element::f32));
  for (const PartialShape& shape : {PartialShape{2}, PartialShape{Dimension::dynamic()}}) {
    auto compiled = core.compile_model(model_of_words(shape), "CPU");
    auto request = compiled.create_infer_request();
    for (const std::string& word : {std::string("ten"), std::string("another")}) {
      request.set_tensor("x", words({word, kLong}));
      request.infer();
      const Tensor numbers = request.get_output_tensor(0);
      EXPECT_THAT(std::vector<float>(numbers.data<float>(), numbers.data<float>() + 2),
                  ElementsAre(word == "ten" ? 20 : -2, 40));
      EXPECT_THAT(words_of(request.get_output_tensor(1)), ElementsAre(word + "!", kLong + "!"));
      EXPECT_THAT(words_of(request.get_output_tensor(2)), ElementsAre(word, kLong));
    }
    if (shape.is_static()) continue;
    request.set_tensor("x", words({"a", "b", kLong}));
    request.infer();
    EXPECT_THAT(words_of(request.get_output_tensor(1)), ElementsAre("a!", "b!", kLong + "!"));
  }
}

TEST(CpuStrings, OfTheRequestItselfBeginEmpty) {
  Core core;
  auto request = core.compile_model(model_of_words(PartialShape{2}), "CPU").create_infer_request();
  Tensor x = request.get_tensor("x");
  EXPECT_THAT(words_of(x), ElementsAre("", ""));
  x.data<std::string>()[1] = kLong;
  Tensor own = words({"", ""});
  request.set_output_tensor(1, own);
  request.infer();
  EXPECT_THAT(words_of(own), ElementsAre("!", kLong + "!"));
  EXPECT_THROW(request.set_tensor("x", Tensor(element::u8, Shape{2})), std::exception);
}

TEST(CpuStrings, AreNotExported) {
  Core core;
  auto compiled = core.compile_model(model_of_words(PartialShape{2}), "CPU");
  std::stringstream blob;
  try {
    compiled.export_model(blob);
    FAIL() << "was exported";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds strings"));
  }
}

}  // namespace cpu_strings_test
}  // namespace tenon
