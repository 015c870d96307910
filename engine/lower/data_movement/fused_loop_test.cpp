// SPDX-License-Identifier: Apache-2.0
// Groups of element-wise nodes in one loop against the reference: functions, shapes that broadcast, layouts, types.
#include <cmath>
#include <limits>
#include <random>

#include <tenon/engine/kernels/simd/fused_loop.hpp>
#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace fused_loop_test {

namespace kernels = engine::kernels;

constexpr const char* kUnary[] = {"Relu",     "Sigmoid",  "Tanh",     "Abs",  "Erf",      "Sin",    "Cos",
                                  "Floor",    "Ceiling",  "Sign",     "Exp",  "SoftSign", "HSwish", "Mish",
                                  "SoftPlus", "HSigmoid", "Negative", "Atan", "Swish"};
constexpr const char* kBinary[] = {"Add", "Subtract", "Multiply", "Maximum", "Minimum", "SquaredDifference"};
constexpr const char* kTest[] = {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"};

/// A random group of nodes of `shape`, over x and tensors that broadcast to it.
class RandomGroup {
 public:
  RandomGroup(const Out& x, const std::vector<Out>& others, unsigned seed) : random_(seed), others_(others) {
    values_ = {x};
  }
  Out make(std::size_t nodes) {
    while (nodes--) values_.push_back(next());
    // All values are read: what nothing reads would not be there.
    Out all = values_[0];
    for (std::size_t i = 1; i < values_.size(); ++i) all = op1("Maximum", 1, {all, values_[i]});
    return all;
  }

 private:
  const Out& value() { return values_[random_() % values_.size()]; }
  Out operand() { return random_() % 2 ? others_[random_() % others_.size()] : value(); }
  Out next() {
    switch (random_() % 4) {
      case 0: {
        const std::string type = kUnary[random_() % std::size(kUnary)];
        const bool is_newer = type == "Mish" || type == "SoftPlus" || type == "HSwish" || type == "Swish";
        return op1(type.c_str(), type == "HSigmoid" ? 5 : type == "SoftSign" ? 9 : is_newer ? 4 : 1, {value()});
      }
      case 1:
        return op1("Select", 1,
                   {op1(kTest[random_() % std::size(kTest)], 1, {value(), operand()}), value(), operand()});
      default:
        return op1(kBinary[random_() % std::size(kBinary)], 1, {value(), operand()});
    }
  }
  std::mt19937 random_;
  std::vector<Out> values_, others_;
};

TEST(FusedLoop, RandomGroupsAgreeInEveryLayout) {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::size_t channels = std::vector<std::size_t>{16, 32, 24, 3}[random() % 4], side = 3 + random() % 17;
    const auto x = parameter({1, channels, side, side + 1});
    const auto row = parameter({side + 1}), channel = parameter({1, channels, 1, 1}), plane = parameter({side, 1});
    const auto whole = parameter({1, channels, side, side + 1});
    const std::vector<Out> others{row, channel, plane, whole, weights({channels, 1, 1}, seed), scalar(0.5)};
    // Behind a convolution channels lie in blocks, or last; two readers keep the group out of its step.
    const bool after_convolution = random() % 2;
    const Out begin = after_convolution ? convolution(x, channels, 3, 1, 1) : Out(x);
    const Out made = RandomGroup(begin, others, seed).make(3 + random() % 6);
    judge(std::make_shared<Model>(OutputVector{made}, ParameterVector{x, row, channel, plane, whole}));
  }
}

TEST(FusedLoop, RowsOfEveryLengthRepeat) {
  // Shorter than a tile, as long, shares of it, and such that no share fits.
  for (const std::size_t length : {1, 7, 16, 96, 255, 256, 257, 300, 512, 1000, 1024}) {
    SCOPED_TRACE(length);
    const auto x = parameter({5, 3, length}), row = parameter({length}), other = parameter({1, 3, 1});
    const Out y = op1("Add", 1, {op1("Multiply", 1, {x, row}), op1("Sin", 1, {op1("Subtract", 1, {x, other})})});
    judge(op1("Maximum", 1, {y, row}), {x, row, other});
  }
}

TEST(FusedLoop, AGroupIsOneStep) {
  const auto x = parameter({2, 40, 7}), y = parameter({40, 1});
  Out z = op1("Multiply", 1, {op1("Add", 1, {x, y}), scalar(3)});
  z = op1("Subtract", 1, {z, op1("Floor", 1, {z})});
  z = op1("Select", 1, {op1("Greater", 1, {z, y}), op1("Log", 1, {op1("Abs", 1, {z})}), x});
  const auto judged = judge(z, {x, y});
  EXPECT_EQ(judged.steps, 1u);
  EXPECT_EQ(judged.references, 0u);
}

TEST(FusedLoop, ValuesThatOthersReadStayOutside) {
  const auto x = parameter({3, 50});
  const Out shared = op1("Exp", 1, {op1("Sin", 1, {x})});
  const Out first = op1("Floor", 1, {op1("Add", 1, {shared, scalar(1)})});
  const auto model = std::make_shared<Model>(OutputVector{first, shared}, ParameterVector{x});
  EXPECT_EQ(judge(model).steps, 2u);
}

TEST(FusedLoop, ChannelsInBlocksStayThere) {
  const auto x = parameter({1, 32, 9, 9});
  const Out features = convolution(x, 32, 3, 1, 1);
  // A normalisation before an activation, as DenseNet has it, and a gate per channel.
  Out y = op1("Relu", 1,
              {op1("Add", 1, {op1("Multiply", 1, {features, weights({1, 32, 1, 1}, 3)}), weights({32, 1, 1}, 4)})});
  y = op1("Concat", 1, {y, features}, {{"axis", 1}});
  const Out gate = op1("Sigmoid", 1, {op1("ReduceMean", 1, {y, ints({2, 3})}, {{"keep_dims", true}})});
  const Out z = convolution(op1("Multiply", 1, {y, gate}), 16, 1);
  const auto judged = judge(z, {x});
  std::size_t reorders = 0;
  for (const auto& info : judged.infos) reorders += info.node_type == "Reorder";
  EXPECT_TRUE(reorders <= 2 || !has_channel_blocks()) << reorders << " of the input and the output";
}

TEST(FusedLoop, BooleansAndIntegersAgree) {
  const auto i = parameter({4, 33}, element::i64), j = parameter({33}, element::i64),
             b = parameter({4, 33}, element::boolean);
  const auto x = parameter({4, 33});
  for (const char* test : kTest) {
    SCOPED_TRACE(test);
    const Out less = op1(test, 1, {i, j});
    const Out both =
        op1("LogicalOr", 1, {op1("LogicalNot", 1, {op1("LogicalAnd", 1, {less, b})}), op1("LogicalXor", 1, {less, b})});
    EXPECT_EQ(judge(op1("Select", 1, {both, x, op1("Multiply", 1, {x, scalar(-2)})}), {i, j, b, x}).references, 0u);
    EXPECT_EQ(judge(op1("Select", 1, {both, i, j}), {i, j, b}).references, 0u);
    judge(both, {i, j, b});
  }
  const auto k = parameter({4, 1}, element::i64);
  judge(op1("Subtract", 1, {k, i}), {k, i});
  judge(op1("Subtract", 1, {i, k}), {i, k});
  const Out count = op1("Convert", 1, {i}, {{"destination_type", element::f32}});
  judge(op1("Add", 1,
            {op1("Divide", 1, {count, scalar(7)}), op1("Convert", 1, {b}, {{"destination_type", element::f32}})}),
        {i, b});
}

TEST(FusedLoop, RemaindersAndPowersAgree) {
  const auto x = parameter({3, 70}), y = parameter({70});
  for (const char* type : {"Mod", "FloorMod", "Power"}) {
    SCOPED_TRACE(type);
    EXPECT_EQ(judge(op1(type, 1, {op1("Abs", 1, {x}), y}), {x, y}).references, 0u);
    EXPECT_EQ(judge(op1(type, 1, {x, scalar(2)}), {x}).references, 0u);
    EXPECT_EQ(judge(op1(type, 1, {x, scalar(-3)}), {x}, 1e-3).references, 0u);
  }
}

TEST(FusedLoop, SlopesArePerChannelOrBroadcast) {
  const auto x = parameter({2, 5, 7});
  for (const Shape& shape : {Shape{5}, Shape{7}, Shape{1}, Shape{5, 1}, Shape{5, 7}}) {
    SCOPED_TRACE(to_string(shape));
    EXPECT_EQ(judge(op1("PRelu", 1, {x, weights(shape)}), {x}).references, 0u);
  }
}

/// One function over given numbers.
std::vector<float> computed(kernels::Elementwise what, const std::vector<float>& x, float alpha = 0, float beta = 0) {
  std::vector<float> y(x.size());
  kernels::elementwise(what)(x.data(), x.data(), x.data(), y.data(), x.size(), alpha, beta);
  return y;
}

TEST(FusedLoop, FunctionsAreAsExactAsTheLibrarys) {
  using kernels::Elementwise;
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.0025f);
  struct Case {
    Elementwise what;
    double (*exact)(double);
    double tolerance;
  };
  const Case cases[] = {
      {Elementwise::kErf, [](double v) { return std::erf(v); }, 2e-7},
      {Elementwise::kSin, [](double v) { return std::sin(v); }, 3e-7},
      {Elementwise::kCos, [](double v) { return std::cos(v); }, 3e-7},
      {Elementwise::kAtan, [](double v) { return std::atan(v); }, 3e-7},
      {Elementwise::kSoftPlus, [](double v) { return std::log1p(std::exp(v)); }, 1e-6},
      {Elementwise::kGelu, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }, 2e-6}};
  for (const Case& each : cases) {
    const auto y = computed(each.what, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(y[i], each.exact(x[i]), each.tolerance)
          << "function " << static_cast<int>(each.what) << " of " << x[i];
  }
}

TEST(FusedLoop, FunctionsKnowTheEdgesOfTheNumbers) {
  using kernels::Elementwise;
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const auto log = computed(Elementwise::kLog, {0.f, -1.f, kInfinity, kNan, 1.f});
  EXPECT_EQ(log[0], -kInfinity);
  EXPECT_TRUE(std::isnan(log[1]));
  EXPECT_EQ(log[2], kInfinity);
  EXPECT_TRUE(std::isnan(log[3]));
  EXPECT_EQ(log[4], 0.f);
  const auto erf = computed(Elementwise::kErf, {kInfinity, -kInfinity, kNan, 0.f, 100.f});
  EXPECT_EQ(erf[0], 1.f);
  EXPECT_EQ(erf[1], -1.f);
  EXPECT_TRUE(std::isnan(erf[2]));
  EXPECT_EQ(erf[3], 0.f);
  EXPECT_EQ(erf[4], 1.f);
  const auto softplus = computed(Elementwise::kSoftPlus, {-200.f, 200.f, kNan});
  EXPECT_EQ(softplus[0], 0.f);
  EXPECT_EQ(softplus[1], 200.f);
  EXPECT_TRUE(std::isnan(softplus[2]));
  EXPECT_NEAR(computed(Elementwise::kSin, {100000.f})[0], std::sin(100000.0), 1e-6)
      << "beyond the vector library's range";
  EXPECT_EQ(computed(Elementwise::kToTheAlpha, {-kInfinity}, 0.5f)[0], kInfinity) << "as pow() says";
}

TEST(FusedLoop, LongGroupsAreCutAndManyOperandsFit) {
  const auto x = parameter({2, 300});
  ParameterVector parameters{x};
  Out y = x;
  for (unsigned i = 0; i < 40; ++i) {
    parameters.push_back(parameter({2, 300}));
    y = op1("Subtract", 1, {op1("Multiply", 1, {y, scalar(0.9)}), parameters.back()});
  }
  const auto judged = judge(y, parameters);
  EXPECT_EQ(judged.references, 0u);
  EXPECT_LT(judged.steps, 20u);
}

}  // namespace fused_loop_test
}  // namespace tenon::engine_test
