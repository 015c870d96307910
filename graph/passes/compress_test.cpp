// SPDX-License-Identifier: Apache-2.0
// Compression to f16 rounds only weights; observers see each pass.
#include <tenon/graph/passes/compress.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/passes/observer.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace compress_test {
using namespace tenon;
using op::v0::Constant;

/// y = x * weights + small, with weights of 64 values.
std::shared_ptr<Model> scaled(double factor) {
  std::vector<double> weights;
  for (int i = 0; i < 64; ++i) weights.push_back(factor * std::sin(i + 1));
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{64});
  const auto w = std::make_shared<Constant>(element::f32, Shape{64}, weights);
  w->set_friendly_name("weights");
  const auto small = std::make_shared<Constant>(element::f32, Shape{1}, std::vector<double>{0.1});
  const auto product = make_node("Multiply", 1, {x, w});
  const auto sum = make_node("Add", 1, {product, small});
  return std::make_shared<Model>(OutputVector{sum}, ParameterVector{x});
}
std::size_t count(const Model& model, std::string_view type) {
  std::size_t found = 0;
  for (const auto& node : model.get_ordered_ops()) found += is_op(node, type);
  return found;
}

TEST(CompressToF16, RoundsWeightsAndNothingElse) {
  const auto model = scaled(1);
  Tensor ones(element::f32, Shape{64});
  for (int i = 0; i < 64; ++i) ones.data<float>()[i] = 1;
  const Tensor before = evaluate(*model, {ones}).at(0);
  const pass::Compressed done = pass::compress_to_f16(*model);
  EXPECT_EQ(done.constants, 1u) << "the small one stays";
  EXPECT_EQ(done.bytes_before, 256u);
  EXPECT_EQ(done.bytes_after, 128u);
  EXPECT_GT(done.largest_error, 0);
  EXPECT_LE(done.largest_error, 1.0 / 2048);
  const Tensor after = evaluate(*model, {ones}).at(0);
  for (int i = 0; i < 64; ++i) EXPECT_NEAR(before.data<float>()[i], after.data<float>()[i], 5e-4) << i;
  EXPECT_EQ(count(*model, "Convert"), 1u);
  EXPECT_EQ(pass::compress_to_f16(*model).constants, 0u) << "once is enough";
}

TEST(CompressToF16, LeavesWhatDoesNotFit) {
  const auto model = scaled(1e6);
  const pass::Compressed done = pass::compress_to_f16(*model);
  EXPECT_EQ(done.constants, 0u);
  EXPECT_EQ(done.kept, 1u);
  EXPECT_EQ(count(*model, "Convert"), 0u);
}

TEST(PassObserver, SeesTheModelBeforeAndAfterEachPass) {
  const auto model = scaled(1);
  std::vector<std::string> seen;
  {
    const pass::Observer observer([&](const Model& now, const std::string& pass, bool) {
      seen.push_back(pass + ":" + std::to_string(now.get_ordered_ops().size()));
      throw 1;  // Observers change nothing.
    });
    pass::Manager().add(pass::fold_constants()).run(model);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{":6", "fold_constants:6"}));
  pass::Manager().add(pass::fold_constants()).run(model);
  EXPECT_EQ(seen.size(), 2u) << "over";
}

}  // namespace compress_test
