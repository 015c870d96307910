// SPDX-License-Identifier: Apache-2.0
// Small models, and the engine checked against the reference interpreter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon::engine_test {

using Out = Output<Node>;

inline Tensor random_tensor(ElementType type, const Shape& shape, unsigned seed) {
  Tensor tensor(type, shape);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < tensor.element_count(); ++i) {
    if (type == ElementType::kF32)
      tensor.data<float>()[i] = normal(random);
    else if (type == ElementType::kI64)
      tensor.data<std::int64_t>()[i] = static_cast<std::int64_t>(random() % 3);
    else if (type == ElementType::kI32)
      tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 3);
    else
      static_cast<std::uint8_t*>(tensor.data())[i] = static_cast<std::uint8_t>(random() % 2);
  }
  return tensor;
}

inline std::shared_ptr<op::v0::Parameter> parameter(const Shape& shape, element::Type type = element::f32) {
  return std::make_shared<op::v0::Parameter>(type, PartialShape(shape));
}
inline Out weights(const Shape& shape, unsigned seed = 7, float scale = 0.3f) {
  Tensor tensor = random_tensor(ElementType::kF32, shape, seed);
  for (std::size_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] *= scale;
  return std::make_shared<op::v0::Constant>(tensor);
}
inline Out ints(const std::vector<std::int64_t>& values) {
  return op::v0::Constant::create(element::i64, Shape{values.size()}, values);
}
inline Out scalar_int(std::int64_t value) {
  return op::v0::Constant::create(element::i64, Shape{}, std::vector<std::int64_t>{value});
}
inline Out scalar(double value) { return op::v0::Constant::create(element::f32, Shape{}, std::vector<double>{value}); }
inline Out op1(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return make_node(type, version, inputs, attributes)->output(0);
}

struct Judged {
  std::size_t steps = 0, references = 0;
  std::vector<engine::StepInfo> infos;
  bool ran(const std::string& type) const {
    for (const auto& info : infos)
      if (info.node_type == type) return true;
    return false;
  }
};

inline void expect_close(const Tensor& wanted, const Tensor& got, const std::string& what, double tolerance = 2e-4) {
  ASSERT_EQ(wanted.shape(), got.shape()) << what;
  ASSERT_EQ(wanted.element_type(), got.element_type()) << what;
  if (wanted.element_type() != ElementType::kF32) {
    EXPECT_EQ(0, std::memcmp(wanted.data(), got.data(), wanted.size_bytes())) << what;
    return;
  }
  double worst = 0, largest = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < wanted.element_count(); ++i) {
    const double w = wanted.data<float>()[i], g = got.data<float>()[i];
    if (std::isnan(w) && std::isnan(g)) continue;
    if (w == g) continue;  // infinities
    largest = std::max(largest, std::abs(w));
    const double difference = std::isnan(w - g) ? INFINITY : std::abs(w - g);
    if (difference > worst) worst = difference, at = i;
  }
  EXPECT_LE(worst, tolerance * (1 + largest))
      << what << " at element " << at << ": wanted " << wanted.data<float>()[at] << ", got " << got.data<float>()[at];
}

inline std::vector<Tensor> random_inputs(const Model& model, unsigned seed = 1) {
  std::vector<Tensor> inputs;
  for (const auto& input : model.inputs())
    inputs.push_back(random_tensor(input.get_element_type(), input.get_shape(), seed++));
  return inputs;
}

/// Compiles and runs the model fused, unfused, without blocked layouts and with the channels last; every output, and in
/// a further run every value that a step makes, must be the reference's. Each plan runs twice on other inputs, over a
/// poisoned arena.
inline Judged judge(const std::shared_ptr<Model>& model, double tolerance = 2e-4) {
  Judged judged;
  struct Round {
    std::vector<Tensor> inputs, wanted;
    std::map<std::string, std::vector<Tensor>> values;
  };
  Round rounds[3];
  for (unsigned round = 0; round < 3; ++round) {
    rounds[round].inputs = random_inputs(*model, 100 * round + 1);
    rounds[round].wanted =
        evaluate(*model, rounds[round].inputs, nullptr, [&](const Node& node, const std::vector<Tensor>& outputs) {
          rounds[round].values[node.get_friendly_name()] = outputs;
        });
  }
  constexpr const char* kLabels[] = {"fused", "unfused", "plain", "channels last"};
  for (const int variant : {0, 1, 2, 3}) {
    engine::Options options;
    options.threads = 2;
    options.fuse = variant != 1;
    options.blocked_layouts = variant != 2;
    options.images = variant == 3 ? engine::Options::Images::kChannelsLast : engine::Options::Images::kBlocks;
    const std::string label = kLabels[variant];
    const auto plan = engine::Plan::compile(model, options);
    engine::Workers workers(2);
    engine::Execution execution(plan);
    for (unsigned round = 0; round < 3; ++round) {
      const auto& [inputs, wanted, values] = rounds[round];
      if (round == 2) {
        execution.observe(
            [&known = values, &label, tolerance](const std::string& node, std::size_t output, const Tensor& value) {
              const auto found = known.find(node);
              if (found == known.end()) return;  // a node added by a pass
              expect_close(found->second[output], value, label + ", value of " + node, tolerance);
            });
      }
      std::vector<Tensor> results;
      for (std::size_t i = 0; i < inputs.size(); ++i) execution.bind_input(i, inputs[i]);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        results.emplace_back(wanted[i].element_type(), wanted[i].shape());
        std::memset(results.back().data(), 0xff, results.back().size_bytes());
        execution.bind_output(i, results.back());
      }
      EXPECT_TRUE(execution.run(workers));
      for (std::size_t i = 0; i < wanted.size(); ++i)
        expect_close(wanted[i], results[i],
                     label + ", output " + std::to_string(i) + ", round " + std::to_string(round), tolerance);
      EXPECT_EQ(execution.packed_bytes(), 0u);
    }
    if (variant == 0) {
      judged.infos = plan->steps();
      judged.steps = judged.infos.size();
      judged.references = plan->reference_step_count();
    }
  }
  return judged;
}

inline Judged judge(const Out& output, const ParameterVector& parameters, double tolerance = 2e-4) {
  return judge(std::make_shared<Model>(OutputVector{output}, parameters), tolerance);
}

inline Out convolution(const Out& x, std::size_t out, std::int64_t kernel, std::int64_t stride = 1,
                       std::int64_t pad = 0, unsigned seed = 7) {
  const Shape shape{out, x.get_shape()[1], static_cast<std::size_t>(kernel), static_cast<std::size_t>(kernel)};
  return op1(
      "Convolution", 1, {x, weights(shape, seed)},
      {{"strides", {stride, stride}}, {"pads_begin", {pad, pad}}, {"pads_end", {pad, pad}}, {"dilations", {1, 1}}});
}

}  // namespace tenon::engine_test
