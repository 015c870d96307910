// SPDX-License-Identifier: Apache-2.0
// One memory as input and output of one inference: results are those of separate memory.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace shared_memory_test {

using intel_gpu::ocl::ClContext;
using ::testing::HasSubstr;
using Out = Output<Node>;

constexpr std::size_t kSide = 16;

Out ints(const std::vector<std::int64_t>& values) {
  return op::v0::Constant::create(element::i64, Shape{values.size()}, values);
}

/// Functions of x [16, 16] to one or two results.
struct Case {
  std::string name;
  std::function<OutputVector(const Out& x)> make;
  bool is_element_wise = false;
};
const std::vector<Case>& cases() {
  const auto one = [](const char* type, const OutputVector& inputs, const Attributes& attributes = {}) {
    return make_node(type, 0, inputs, attributes)->output(0);
  };
  static const std::vector<Case> all{
      {"element by element", [=](const Out& x) { return OutputVector{one("Negative", {x})}; }, true},
      {"product",
       [=](const Out& x) {
         return OutputVector{one("MatMul", {x, x}, {{"transpose_a", false}, {"transpose_b", true}})};
       }},
      {"transposed",
       [=](const Out& x) {
         return OutputVector{one("Transpose", {x, ints({1, 0})})};
       }},
      {"beside itself transposed",
       [=](const Out& x) {
         return OutputVector{one("Add", {x, one("Transpose", {x, ints({1, 0})})})};
       }},
      {"with what passes through",
       [=](const Out& x) {
         return OutputVector{one("Abs", {x}), x};
       }},
      {"with a reshape",
       [=](const Out& x) {
         return OutputVector{one("Abs", {x}), one("Reshape", {x, ints({256})}, {{"special_zero", false}})};
       }},
      {"read after it is written",
       [=](const Out& x) {
         const Out first = one("Negative", {x});
         return OutputVector{first, one("Multiply", {x, one("ReduceSum", {first, ints({0})}, {{"keep_dims", true}})})};
       }},
      {"reversed",
       [=](const Out& x) {
         return OutputVector{one("Slice", {x, ints({-1}), ints({-100}), ints({-1}), ints({0})})};
       }},
  };
  return all;
}

void set(const Tensor& memory, const std::vector<float>& values, bool is_remote) {
  Tensor source(element::f32, memory.shape());
  std::copy(values.begin(), values.end(), source.data<float>());
  if (is_remote)
    RemoteTensor(memory).copy_from(source);
  else
    std::copy(values.begin(), values.end(), static_cast<float*>(const_cast<Tensor&>(memory).data()));
}
std::vector<float> get(const Tensor& tensor, bool is_remote) {
  Tensor copy(tensor.element_type(), tensor.shape());
  if (is_remote)
    RemoteTensor(tensor).copy_to(copy);
  else
    tensor.copy_to(copy);
  return {copy.data<float>(), copy.data<float>() + copy.element_count()};
}

TEST_F(Gpu, TensorsOfRequestsHaveHostAddresses) {
  CompiledModel compiled = core.compile_model(line_model(), "GPU");
  InferRequest request = compiled.create_infer_request();
  const auto check = [&](Tensor x, Tensor y) {
    ASSERT_TRUE(x.is_host_addressable());
    ASSERT_TRUE(y.is_host_addressable());
    std::iota(x.data<float>(), x.data<float>() + kCount, 0.0f);
    request.set_tensor("x", x);
    request.set_tensor("y", y);
    request.infer();
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(y.data<float>()[i], 2 * static_cast<float>(i) + 1);
  };
  check(request.get_tensor("x"), request.get_tensor("y"));
  RemoteContext context = compiled.get_context();
  const auto made = [&] { return context.create_host_tensor(element::f32, Shape{kCount}); };
  check(made(), made());
  const auto total = request.ledger().total();
  if (opencl::coherency(opencl::make_context(app.device)) == opencl::Coherency::kStanding) {
    EXPECT_EQ(total.copied + total.transferred, 0u);
  }
}

TEST_F(Gpu, OneMemoryIsInputAndOutput) {
  ClContext context(core);
  std::vector<float> values((kSide + 1) * kSide);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) - 17.5f;
  for (const Case& one : cases()) {
    for (const bool is_open : {false, true}) {
      const auto x = std::make_shared<op::v0::Parameter>(
          element::f32, is_open ? PartialShape{Dimension::dynamic(), kSide} : PartialShape{kSide, kSide});
      auto compiled = core.compile_model(std::make_shared<Model>(one.make(x), ParameterVector{x}, one.name), context,
                                         hint::inference_precision(element::f32));
      for (const bool is_remote : {false, true}) {
        // Rows of x begin at the memory's `from`, those of the result at its `to`.
        for (const auto& [from, to] : {std::pair{0u, 0u}, std::pair{0u, 1u}, std::pair{1u, 0u}}) {
          SCOPED_TRACE(one.name + (is_open ? ", open" : "") + (is_remote ? ", a buffer" : ", the host's") + ", from " +
                       std::to_string(from) + " to " + std::to_string(to));
          const Tensor memory = is_remote ? Tensor(context.create_tensor(element::f32, Shape{kSide + 1, kSide}))
                                          : Tensor(element::f32, Shape{kSide + 1, kSide});
          const auto part = [&](std::size_t begin) {
            return Tensor(memory, Shape{begin, 0}, Shape{begin + kSide, kSide});
          };
          set(memory, values, is_remote);
          auto apart = compiled.create_infer_request();
          apart.set_input_tensor(0, part(from));
          apart.infer();
          std::vector<std::vector<float>> wanted;
          for (std::size_t i = 0; i < compiled.outputs().size(); ++i)
            wanted.push_back(get(apart.get_output_tensor(i), false));
          auto request = compiled.create_infer_request();
          request.set_input_tensor(0, part(from));
          request.set_output_tensor(0, part(to));
          for (int round = 0; round < 2; ++round) {
            set(memory, values, is_remote);
            request.infer();
            EXPECT_EQ(get(part(to), is_remote), wanted[0]);
            if (wanted.size() > 1) {
              EXPECT_EQ(get(request.get_output_tensor(1), false), wanted[1]);
            }
          }
          const bool is_direct = one.is_element_wise && !is_open && is_remote && from == to;
          if (is_direct) {
            EXPECT_EQ(request.ledger().total().copied, 0u) << "nothing stands in the way";
          }
        }
      }
    }
  }
}

TEST_F(Gpu, OneMemoryForTwoOutputsHoldsTheLast) {
  ClContext context(core);
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kSide, kSide});
  auto request = core.compile_model(std::make_shared<Model>(cases()[4].make(x), ParameterVector{x}, "two"), context)
                     .create_infer_request();
  Tensor given(element::f32, Shape{kSide, kSide}), both(element::f32, Shape{kSide, kSide});
  std::iota(given.data<float>(), given.data<float>() + kSide * kSide, -100.0f);
  request.set_input_tensor(0, given);
  request.set_output_tensor(0, both);
  request.set_output_tensor(1, both);
  request.infer();
  for (std::size_t i = 0; i < kSide * kSide; ++i) ASSERT_EQ(both.data<float>()[i], given.data<float>()[i]);
}

TEST_F(Gpu, SharedMemoryThatNeedsACopyIsRefusedWhereNoneIsAllowed) {
  ClContext context(core);
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kSide, kSide});
  auto request = core.compile_model(std::make_shared<Model>(cases()[2].make(x), ParameterVector{x}, "transposed"),
                                    context, zero_copy(ZeroCopy::kRequire))
                     .create_infer_request();
  const auto memory = context.create_tensor(element::f32, Shape{kSide, kSide});
  request.set_input_tensor(0, memory);
  request.set_output_tensor(0, memory);
  EXPECT_THAT(error_of([&] { request.infer(); }).what(), HasSubstr("shares memory"));
  request.set_output_tensor(0, context.create_tensor(element::f32, Shape{kSide, kSide}));
  request.infer();
}

}  // namespace shared_memory_test
}  // namespace tenon::gpu_testing
