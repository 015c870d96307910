// SPDX-License-Identifier: Apache-2.0
// Programs and runs: blobs that detect any change, bindings in place, states, dynamic shapes, the cache.
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/tests/support/temporary_folder.hpp>
#include <tenon/tests/support/turns_model.hpp>

namespace tenon::npu::compiler {
namespace program_test {

using ::testing::HasSubstr;

engine::Workers& workers() {
  static engine::Workers two(2);
  return two;
}

Bytes blob_of(const Model& model, const char* flags = nullptr) {
  const Tensor bytes = compile(request_for(in_memory(model), flags), nullptr).program->bytes();
  const auto* data = static_cast<const std::uint8_t*>(bytes.data());
  return Bytes(data, data + bytes.size_bytes());
}

std::string refusal_of(const Bytes& blob, Code code) {
  try {
    Program program(own_copy(blob));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "it was taken";
  return {};
}

TEST(NativeBlob, IgnoresWhatAClientPutsBehindIt) {
  Bytes blob = blob_of(*small_model());
  const std::size_t size = blob.size();
  EXPECT_EQ(size % 4096, 0u);
  blob.insert(blob.end(), 100, 0xAB);
  const auto program = std::make_shared<Program>(own_copy(blob));
  EXPECT_EQ(program->bytes().size_bytes(), size);
  ProgramRun run(program);
  const Tensor x = random_tensor(ElementType::kF32, {1, 4});
  EXPECT_FLOAT_EQ(run_once(run, *program, {x})[0].data<float>()[0], std::max(0.f, x.data<float>()[0] + 1));
}

TEST(NativeBlob, SaysWhatIsWrongWithIt) {
  const Bytes good = blob_of(*small_model());
  Bytes bad = good;
  bad[0] = 'X';
  EXPECT_THAT(refusal_of(bad, Code::kInvalidArgument), HasSubstr("no native binary"));
  bad = good;
  bad[12] ^= 1;  // Changes the compiler's version.
  EXPECT_THAT(refusal_of(bad, Code::kFailedPrecondition), HasSubstr("version"));
  bad = good;
  bad[24] ^= 1;  // Changes the platform, but not the header's hash.
  EXPECT_THAT(refusal_of(bad, Code::kDataLoss), HasSubstr("header"));
  bad = good;
  bad.back() ^= 1;
  EXPECT_THAT(refusal_of(bad, Code::kDataLoss), HasSubstr("content"));
  refusal_of(Bytes(good.begin(), good.end() - 1), Code::kDataLoss);
}

TEST(NativeBlob, RefusesEveryTruncation) {
  const Bytes good = blob_of(*small_model());
  for (std::size_t size = 0; size < good.size(); size += size < 256 ? 1 : 61)
    EXPECT_THROW(Program(own_copy({good.data(), size})), Error) << size;
}

// A waiting thread of the driver runs short lists itself, unless rounds_depend_on_data() says that they may become
// long.
TEST(Program, KnowsWhetherRoundsDependOnData) {
  EXPECT_FALSE(program_of(*small_model())->rounds_depend_on_data());
  EXPECT_FALSE(program_of(*turns_model(3))->rounds_depend_on_data());
  EXPECT_TRUE(program_of(*turns_model())->rounds_depend_on_data());
  const Bytes blob = blob_of(*turns_model());
  EXPECT_TRUE(Program(own_copy(blob)).rounds_depend_on_data());
  // In a body, for which only one trip is known.
  const auto trips = std::make_shared<op::v0::Parameter>(element::i64, PartialShape{1});
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  const auto chosen = std::make_shared<op::v0::Parameter>(element::boolean, PartialShape{});
  const auto branch = std::make_shared<op::v8::If>(chosen->output(0));
  const auto turns = turns_model(), same = small_model(PartialShape{1, 4});
  branch->set_then_body(turns);
  branch->set_else_body(same);
  branch->set_input(trips->output(0), turns->get_parameters()[0], nullptr);
  branch->set_input(x->output(0), turns->get_parameters()[1], same->get_parameters()[0]);
  const Output<Node> y = branch->set_output(turns->get_results()[0], same->get_results()[0]);
  EXPECT_TRUE(program_of(Model(OutputVector{y}, ParameterVector{trips, x, chosen}))->rounds_depend_on_data());
}

TEST(ProgramRun, BindsInPlaceAndStagesWhatIsNot) {
  const auto program = program_of(*small_model(PartialShape{2, 4}));
  ProgramRun run(program);
  Tensor x = random_tensor(ElementType::kF32, {2, 4}), y(ElementType::kF32, {2, 4});
  run.set_argument(0, x.data());
  run.set_argument(1, y.data());
  run.execute(workers());
  EXPECT_EQ(run.copied_bytes(), 0u);
  const auto check = [&](const float* in, std::size_t in_row, const float* out, std::size_t out_row) {
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 4; ++k)
        ASSERT_FLOAT_EQ(out[i * out_row + k], std::max(0.f, in[i * in_row + k] + 1)) << i << k;
  };
  check(x.data<float>(), 4, y.data<float>(), 4);
  // Rows of seven elements; the argument uses four of each.
  std::vector<float> wide_x(14, 0.25f), wide_y(14, -9);
  const std::vector<std::uint64_t> strides{28, 4};
  run.set_argument(0, wide_x.data(), strides);
  run.set_argument(1, wide_y.data(), strides);
  run.execute(workers());
  EXPECT_EQ(run.copied_bytes(), 64u);
  check(wide_x.data(), 7, wide_y.data(), 7);
  EXPECT_EQ(wide_y[4], -9);
  // Misaligned by one byte.
  std::vector<char> odd(33 + 32);
  std::memcpy(odd.data() + 1, x.data(), 32);
  run.set_argument(0, odd.data() + 1);
  run.set_argument(1, y.data());
  run.execute(workers());
  EXPECT_EQ(run.copied_bytes(), 32u);
  check(x.data<float>(), 4, y.data<float>(), 4);
}

TEST(ProgramRun, RefusesWhatIsNotSet) {
  const auto program = program_of(*small_model());
  ProgramRun run(program);
  EXPECT_THROW(run.execute(workers()), Error);
  EXPECT_THROW(run.set_argument(2, &run), Error);
  const std::vector<std::uint64_t> strides{4};
  EXPECT_THROW(run.set_argument(0, &run, strides), Error);
}

TEST(States, AreArgumentsAndWorkInTheirOwnMemory) {
  const auto program = program_of(*stateful_model());
  const auto& arguments = program->arguments();
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(arguments[1].name, "vpux_ie_read_value_mean");
  EXPECT_EQ(arguments[3].name, "vpux_ie_assign_mean");
  EXPECT_EQ(arguments[1].role, Argument::Role::kState);
  ProgramRun run(program);
  Tensor x(ElementType::kF32, {1, 8}), state(ElementType::kF32, {1, 8}), y(ElementType::kF32, {1, 8});
  std::memset(state.data(), 0, 32);
  run.set_argument(0, x.data());
  run.set_argument(1, state.data());
  run.set_argument(2, y.data());
  run.set_argument(3, state.data());
  float mean = 0;
  for (int step = 1; step <= 5; ++step) {
    for (int i = 0; i < 8; ++i) x.data<float>()[i] = static_cast<float>(step);
    run.execute(workers());
    mean = 0.75f * mean + 0.25f * static_cast<float>(step);
    for (int i = 0; i < 8; ++i) {
      ASSERT_NEAR(state.data<float>()[i], mean, 1e-5);
      ASSERT_NEAR(y.data<float>()[i], static_cast<float>(step) - mean, 1e-5);
    }
  }
  EXPECT_EQ(run.copied_bytes(), 0u) << "the state's new value was not written over the old one";
}

TEST(OpenShapes, RunWithinTheirBounds) {
  const auto program = program_of(*small_model(PartialShape{Dimension(1, 4), 3}));
  const auto& arguments = program->arguments();
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(arguments[1].name, "vpux_ie_shape_x");
  EXPECT_EQ(arguments[3].name, "vpux_ie_shape_relu");
  EXPECT_EQ(arguments[2].max_shape(), (Shape{4, 3}));
  ProgramRun run(program);
  std::vector<float> x(12, 1), y(12);
  std::int32_t in_shape[2] = {3, 2}, out_shape[2] = {};  // Innermost first.
  run.set_argument(0, x.data());
  run.set_argument(1, in_shape);
  run.set_argument(2, y.data());
  run.set_argument(3, out_shape);
  for (const std::int32_t rows : {2, 4, 1, 2}) {
    std::fill(y.begin(), y.end(), -1.f);
    in_shape[1] = rows;
    run.execute(workers());
    EXPECT_EQ(out_shape[0], 3);
    EXPECT_EQ(out_shape[1], rows);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], i < rows * 3 ? 2.f : -1.f);
  }
  in_shape[1] = 5;
  EXPECT_THROW(run.execute(workers()), Error);
  in_shape[1] = -1;
  EXPECT_THROW(run.execute(workers()), Error);
}

TEST(OpenShapes, WantUpperBounds) {
  const Bytes ir = in_memory(*small_model(PartialShape{Dimension(), 3}));
  try {
    compile(request_for(ir), nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Upper bounds are not specified"));
  }
}

TEST(OpenShapes, BecomeStaticWhenAsked) {
  const auto program =
      program_of(*small_model(PartialShape{Dimension(1, 4), 3}), "--config NPU_DYNAMIC_SHAPE_TO_STATIC=\"YES\"");
  ASSERT_EQ(program->arguments().size(), 2u);
  EXPECT_TRUE(program->is_static());
  EXPECT_EQ(program->arguments()[0].max_shape(), (Shape{4, 3}));
}

TEST(Program, ComesBackAfterItWasUnloaded) {
  const auto program = program_of(*small_model());
  ProgramRun run(program);
  const Tensor x = random_tensor(ElementType::kF32, {1, 4});
  run_once(run, *program, {x});
  run.release();
  program->unload();
  EXPECT_FALSE(program->is_loaded());
  EXPECT_EQ(run.working_bytes(), 0u);
  EXPECT_FLOAT_EQ(run_once(run, *program, {x})[0].data<float>()[0], std::max(0.f, x.data<float>()[0] + 1));
  EXPECT_TRUE(program->is_loaded());
}

TEST(Profile, HasATimeForEachStep) {
  const auto program = program_of(*small_model(), "--config PERF_COUNT=\"YES\"");
  ProgramRun run(program);
  run_once(run, *program, {random_tensor(ElementType::kF32, {1, 4})});
  ASSERT_TRUE(run.profile().plan);
  EXPECT_EQ(run.profile().timings.size(), run.profile().plan->steps().size());
}

}  // namespace program_test
}  // namespace tenon::npu::compiler
